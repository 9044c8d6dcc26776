using HibpIngest.Api.AccessLog.Usage;

namespace HibpIngest.Cli.Commands;

internal sealed class AccessUsageCommand : HibpCommand
{
    private const int DefaultHours = 24;

    private static readonly string[] HourFormats = ["yyyy-MM-dd'T'HH", "yyyy-MM-dd"];

    private readonly Option<string?> _from = new("--from")
    {
        Description = "First hour, UTC: 2026-11-22T10, or 2026-11-22 for the first hour of that day. Default: 24 hours before --to.",
        HelpName = "HOUR",
    };

    private readonly Option<string?> _to =
        new("--to") { Description = "Hour after the last, in the same form. Default: the end of the current hour.", HelpName = "HOUR" };

    private readonly Option<string> _by = new("--by")
    {
        Description = "Group by route, key, hour or status.",
        HelpName = "WHAT",
        DefaultValueFactory = _ => NameOf(UsageBy.Route),
    };

    public AccessUsageCommand()
        : base("usage", "Count requests to the API by route, key, hour or status. The requests of the current hour are counted when the "
            + "hour ends or their process stops.")
    {
        Add(_from, _to);
        _by.AcceptOnlyFromAmong([.. Enum.GetValues<UsageBy>().Select(NameOf)]);
        Add(_by);
        AddExamples(
            ("hibp access usage", "the last 24 hours, by route"),
            ("hibp access usage --by key --from 2026-11-01 --to 2026-12-01", "a month, by API key"),
            ("hibp access usage --by hour --from 2026-11-22 --json", "since that day by hour, as JSON"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var to = Hour(session, _to) ?? UsageReader.HourOf(session.Time.GetUtcNow()).AddHours(1);
        var from = Hour(session, _from) ?? to.AddHours(-DefaultHours);
        if (from >= to)
            throw new BadInputException($"--from: expected a time before --to, found {HourText(from)} and {HourText(to)}");
        var by = Enum.Parse<UsageBy>(session.Parsed.GetRequiredValue(_by), ignoreCase: true);
        using var account = await session.OpenAccountAsync(cancellationToken);
        var report = await new UsageReader(account.Usage, account.Keys).ReadAsync(from, to, by, cancellationToken);
        if (session.Screen.TryShowJson(() => report))
            return;
        session.Screen.Say($"from {HourText(from)} to {HourText(to)}, UTC");
        session.Screen.Show(
            ToTable(report), ifEmpty: "No requests are counted for that time; those of the current hour are counted when it ends.");
    }

    private static FittingTable ToTable(UsageReport report)
    {
        var table = TableFormat.Create(report.By, "requests", "5xx", "mean", "longest", "MiB").AlignRight(1, 2, 3, 4, 5);
        foreach (var line in report.Lines)
            AddRow(line.Route ?? line.Name ?? line.Key ?? (line.Hour is { } hour ? HourText(hour) : $"{line.Status}"), line);
        if (report.Lines.Count > 1)
            AddRow("total", report.Total);
        return table;

        void AddRow(string what, UsageLine line) => table.AddRow(
            what, TableFormat.Number(line.Requests), Share(line.ServerErrors, line.Requests), Milliseconds(line.MeanMicroseconds),
            Milliseconds(line.LongestMicroseconds), (line.Bytes / 1048576.0).ToString("N1", CultureInfo.InvariantCulture));
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
            ? hour : throw new BadInputException($"{option.Name}: expected an hour as 2026-11-22T10, or a day, found '{text}'");
    }
}
