namespace HibpIngest.Cli.Output;

internal static class TableFormat
{
    public static FittingTable Create(params ReadOnlySpan<string> columns) => new(columns);

    public static string Date(DateOnly? date) => date?.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture) ?? "";

    public static string Moment(DateTimeOffset? moment) =>
        moment?.ToLocalTime().ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture) ?? "";

    /// <summary>Formats a time for logs, which machines in several time zones write (ISO 8601).</summary>
    public static string Utc(DateTimeOffset moment) =>
        moment.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture);

    public static string Number(long number) => number.ToString("N0", CultureInfo.InvariantCulture);

    public static string Count(long count, string noun) => count == 1 ? $"1 {noun}" : $"{Number(count)} {noun}s";

    public static string Rate(double perSecond) =>
        !double.IsFinite(perSecond) || perSecond < 0.05 ? ""
        : perSecond < 9.95 ? perSecond.ToString("0.0", CultureInfo.InvariantCulture) : Number((long)Math.Round(perSecond));

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
        < 10_000 => $"{Number(bytes)} bytes",
        < 10_000L << 10 => $"{(double)bytes / (1L << 10):0} KiB",
        < 10_000L << 20 => $"{(double)bytes / (1L << 20):0} MiB",
        < 10_000L << 30 => $"{(double)bytes / (1L << 30):0} GiB",
        _ => $"{(double)bytes / (1L << 40):0} TiB",
    };
}
