using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Commands;

internal sealed class BreachesCommand : HibpCommand
{
    public BreachesCommand()
        : base("breaches", "List the breaches, and who may see them.")
    {
        Examples = [("hibp breaches", "all of them, by name, with the number of accounts of their loads: at most that many where "
            + "several loads may hold the same")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breaches = await database.ListBreachesAsync(cancellationToken);
        var loads = (await database.ListLoadsAsync(null, cancellationToken)).ToLookup(
            load => load.Breach, StringComparer.OrdinalIgnoreCase);
        var removals = (await new RemovalStatus(database, database).ListAsync(cancellationToken)).ToDictionary(removal => removal.Breach);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new BreachesDocument([.. breaches.Select(breach => Document(
                    breach, [.. loads[breach.Name]], removals.GetValueOrDefault(breach.Name)))]),
                Documents.Default.BreachesDocument);
            return 0;
        }
        if (breaches.Count == 0)
        {
            session.Screen.Show("There is no breach yet; hibp drop FILE loads one.");
            return 0;
        }
        Show(session.Screen, breaches, loads, removals);
        return 0;
    }

    internal static void Show(
        Screen screen, IReadOnlyList<Breach> breaches, ILookup<string, Load> loads, IReadOnlyDictionary<string, OpenRemoval> removals)
    {
        var table = TableFormat.Create("breach", "title", "domain", "date", "accounts", "loads", "seen by", "flags");
        table.Columns[4].RightAligned();
        table.Columns[5].RightAligned();
        foreach (var breach in breaches)
        {
            var own = loads[breach.Name].ToList();
            table.AddRow(
                new Text(breach.Name),
                new Text(breach.Metadata.Title ?? ""),
                new Text(breach.Metadata.Domain ?? ""),
                new Text(TableFormat.Date(breach.Metadata.BreachDate)),
                new Text((IsAtMost(own) ? "at most " : "") + TableFormat.Number(Accounts(own))),
                new Text(TableFormat.Number(own.Count)),
                new Text(
                    removals.TryGetValue(breach.Name, out var removal)
                    ? $"nobody (removing: {LoadFigures.Percent(removal.Part)})" : breach.IsPublic
                    ? "everybody" : breach.Hidden ? "nobody (hidden)" : breach.PublishedAt is null ? "nobody yet" : "nobody"),
                new Text(string.Join(", ", Flags(breach))));
        }
        screen.Show(table);
    }

    private static BreachDocument Document(Breach breach, IReadOnlyList<Load> loads, OpenRemoval? removal) => new(
        breach.Name, breach.Metadata.Title ?? breach.Name, breach.Metadata.Domain, breach.Metadata.BreachDate, breach.Metadata.Description,
        breach.Metadata.DataClasses,
        [.. Flags(breach)], breach.IsPublic, breach.Hidden, breach.PublishedAt, loads.Count, Accounts(loads), IsAtMost(loads))
    {
        // Only the storage account knows whether a process is working on it.
        Removal = removal is null ? null : RemovalDocument.Of(removal, running: null),
    };

    // Only loads visible to lookups: a failed load may have been restarted as another, and a replaced one has a successor; either would
    // count twice.
    private static long Accounts(IEnumerable<Load> loads) => loads.Where(load => load.PublishedAt is not null).Sum(load => load.Accounts);

    /// <summary>Returns whether the sum is only an upper bound: an account in several loads is counted in each.</summary>
    private static bool IsAtMost(IEnumerable<Load> loads) => loads.Count(load => load.PublishedAt is not null) > 1;

    /// <summary>Returns a breach's flags in the camel case of the JSON documents.</summary>
    public static IEnumerable<string> Flags(Breach breach) =>
        Enum.GetValues<BreachFlags>().Where(flag => flag != BreachFlags.None && breach.Metadata.Flags.HasFlag(flag)).Select(
            flag => char.ToLowerInvariant(flag.ToString()[0]) + flag.ToString()[1..]);
}
