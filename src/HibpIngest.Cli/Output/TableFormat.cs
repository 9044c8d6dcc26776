using System.Globalization;
using Spectre.Console;

namespace HibpIngest.Cli.Output;

/// <summary>How tables and their cells look.</summary>
internal static class TableFormat
{
    public static Table Create(params ReadOnlySpan<string> columns)
    {
        var table = new Table { Border = TableBorder.Simple };
        foreach (var column in columns)
            table.AddColumn(new TableColumn(new Text(column, new Style(decoration: Decoration.Bold))));
        return table;
    }

    public static string Date(DateOnly? date) => date?.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture) ?? "";

    public static string Moment(DateTimeOffset? moment) =>
        moment?.ToLocalTime().ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture) ?? "";

    /// <summary>For logs, which machines in several time zones write (ISO 8601).</summary>
    public static string Utc(DateTimeOffset moment) =>
        moment.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture);

    public static string Number(long number) => number.ToString("N0", CultureInfo.InvariantCulture);

    public static string Rate(double perSecond) =>
        double.IsFinite(perSecond) && perSecond > 0 ? Number((long)Math.Round(perSecond)) + "/s" : "";

    public static string Duration(TimeSpan? duration) => duration switch
    {
        null => "",
        { TotalSeconds: < 10 } value => value.TotalSeconds.ToString("0.0", CultureInfo.InvariantCulture) + " s",
        { TotalMinutes: < 2 } value => value.TotalSeconds.ToString("0", CultureInfo.InvariantCulture) + " s",
        { TotalHours: < 2 } value => value.TotalMinutes.ToString("0", CultureInfo.InvariantCulture) + " min",
        { } value => value.TotalHours.ToString("0.0", CultureInfo.InvariantCulture) + " h",
    };

    public static string Bytes(long bytes) => bytes switch
    {
        < 10_000 => $"{bytes} bytes",
        < 10_000_000 => $"{bytes / 1e3:0} kB",
        < 10_000_000_000 => $"{bytes / 1e6:0} MB",
        < 10_000_000_000_000 => $"{bytes / 1e9:0} GB",
        _ => $"{bytes / 1e12:0} TB",
    };
}
