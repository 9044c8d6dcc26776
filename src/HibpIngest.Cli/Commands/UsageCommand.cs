using System.Globalization;
using HibpIngest.Api.AccessLog.Usage;

namespace HibpIngest.Cli.Commands;

internal sealed class UsageCommand : HibpCommand
{
    private const int DefaultHours = 24;

    private static readonly string[] HourFormats = ["yyyy-MM-dd'T'HH", "yyyy-MM-dd"];

    private readonly Option<string?> _from = new("--from")
    {
        Description = "First hour, UTC: 2026-11-22T10, or 2026-11-22 for the first of that day. Default: 24 hours before --to.",
        HelpName = "HOUR",
    };

    private readonly Option<string?> _to = new("--to")
    {
        Description = "Hour behind the last, in the same form. Default: behind the present one.",
        HelpName = "HOUR",
    };

    private readonly Option<string> _by = new("--by")
    {
        Description = "What to count by: route, key, hour or status.",
        HelpName = "WHAT",
        DefaultValueFactory = _ => NameOf(UsageBy.Route),
    };

    public UsageCommand()
        : base(
            "usage",
            "Show how often what was asked of the API, as the access log tells. What a process has logged is counted a while after it has "
            + "ended its blob: with the hour, or when it stops.")
    {
        Add(_from);
        Add(_to);
        _by.AcceptOnlyFromAmong([.. Enum.GetValues<UsageBy>().Select(NameOf)]);
        Add(_by);
        Examples =
        [
            ("hibp usage", "the last 24 hours, route by route"),
            ("hibp usage --by key --from 2026-11-01 --to 2026-12-01", "a month, key by key"),
            ("hibp usage --by hour --from 2026-11-22 --json", "since that day, hour by hour, for a program"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var to = Hour(session, _to) ?? UsageReader.HourOf(session.Time.GetUtcNow()).AddHours(1);
        var from = Hour(session, _from) ?? to.AddHours(-DefaultHours);
        if (from >= to)
            throw new BadInputException($"--from is expected to be before --to, found {HourText(from)} and {HourText(to)}");
        var by = Enum.Parse<UsageBy>(session.Parsed.GetRequiredValue(_by), ignoreCase: true);
        using var account = await session.OpenAccountAsync(cancellationToken);
        var report = await new UsageReader(account.Usage, account.Keys).ReadAsync(from, to, by, cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(report, Documents.Default.UsageReport);
            return 0;
        }
        session.Screen.Say($"from {HourText(from)} to {HourText(to)}, UTC");
        if (report.Lines.Count == 0)
        {
            session.Screen.Show("Nothing is counted of that time; what is being logged just now is counted when its hour is over.");
            return 0;
        }
        session.Screen.Show(ToTable(report));
        return 0;
    }

    private static FittingTable ToTable(UsageReport report)
    {
        var table = TableFormat.Create(report.By, "requests", "5xx", "mean", "longest", "MiB");
        for (var column = 1; column < table.Columns.Count; column++)
            table.Columns[column].RightAligned();
        foreach (var line in report.Lines)
            AddRow(line.Route ?? line.Name ?? line.Key ?? (line.Hour is { } hour ? HourText(hour) : $"{line.Status}"), line);
        if (report.Lines.Count > 1)
            AddRow("in all", report.Total);
        return table;

        void AddRow(string what, UsageLine line) => table.AddRow(
            new Text(what), new Text(TableFormat.Number(line.Requests)), new Text(Share(line.ServerErrors, line.Requests)),
            new Text(Milliseconds(line.MeanMicroseconds)), new Text(Milliseconds(line.LongestMicroseconds)),
            new Text((line.Bytes / 1048576.0).ToString("N1", CultureInfo.InvariantCulture)));
    }

    private static string Share(long part, long all) =>
        part == 0 ? "0 %" : (100.0 * part / all).ToString("0.00", CultureInfo.InvariantCulture) + " %";

    private static string Milliseconds(long microseconds) => (microseconds / 1000.0).ToString("N1", CultureInfo.InvariantCulture) + " ms";

    private static string NameOf(UsageBy by) => by.ToString().ToLowerInvariant();

    private static string HourText(DateTimeOffset hour) => hour.ToString(HourFormats[0], CultureInfo.InvariantCulture);

    private static DateTimeOffset? Hour(CommandSession session, Option<string?> option)
    {
        if (session.Parsed.GetValue(option) is not { } text)
            return null;
        const DateTimeStyles Utc = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;
        return DateTimeOffset.TryParseExact(text, HourFormats, CultureInfo.InvariantCulture, Utc, out var hour)
            ? hour : throw new BadInputException($"{option.Name} is expected to be an hour as 2026-11-22T10, or a day, found '{text}'");
    }
}
