using HibpIngest.Journal.Merge;
using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Commands;

internal sealed class LayoutListCommand : HibpCommand
{
    public LayoutListCommand()
        : base("list", "List the layouts of the account tables, and show which one is read.")
    {
        AddExamples(
            ("hibp layout list", "tables, storage accounts, spread domains, ranges, missing rows, and which layout is read"),
            ("hibp layout list --json", "as JSON: [{\"name\", \"read\", \"missingRows\", ...}]"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var layouts = await services.GetRequiredService<LayoutOperations>().ListAsync(cancellationToken);
        if (session.Screen.TryShowJson(() => layouts.Select(LayoutDocument.Of).ToArray()))
            return;
        var table = TableFormat.Create("layout", "tables", "storage accounts", "spread", "ranges", "state");
        foreach (var (layout, isRead, missing) in layouts)
        {
            table.AddRow(
                layout.Name, $"{layout.Facts.AccountsTable}, {layout.Facts.RangesTable}", string.Join(", ", layout.Facts.StorageAccounts),
                string.Join(", ", layout.Facts.SpreadDomains.Select(one => $"{one.Key}={one.Value}").Order(StringComparer.Ordinal)),
                layout.Ranges.ToString().ToLowerInvariant(),
                (isRead ? "read" : "written") + (missing > 0 ? $", {TableFormat.Number(missing)} rows missing" : ""));
        }
        session.Screen.Show(table);
    }
}

internal sealed class LayoutSwitchCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "Name of the layout." };
    private readonly Option<bool> _withoutRanges =
        new("--without-ranges") { Description = "Switch although its ranges are not on: requests for ranges are then answered 503." };

    public LayoutSwitchCommand()
        : base("switch", "Switch reads to another layout (cutover). Refused until its backfill is complete. Hosts keep writing the "
            + "previous layout, so that you can switch back at any time.")
    {
        Add(_name, _withoutRanges);
        AddExamples(
            ("hibp layout switch spread", "readers follow within a minute"),
            ("hibp layout switch 1", "switches back to the first layout of a store"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var name = session.Parsed.GetRequiredValue(_name);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var before = await services.GetRequiredService<LayoutOperations>()
            .SwitchAsync(name, session.Parsed.GetValue(_withoutRanges), cancellationToken);
        session.Screen.ShowResult(new SwitchDocument(name, before.Name),
            before.Name == name ? $"Layout {name} is read already."
            : $"Layout {name} is read from now on, by all readers within a minute; 'hibp layout switch {before.Name}' switches back.");
    }
}

internal sealed class LayoutDropCommand : HibpCommand
{
    private readonly Argument<string> _name = new("NAME") { Description = "Name of the layout." };
    private readonly Confirmation _confirmation = new();

    public LayoutDropCommand()
        : base("drop", "Stop writing a layout, and delete its tables once a minute has passed and slices in progress are done. The layout "
            + "that is read can't be dropped; a name can't be used again.")
    {
        Add(_name, _confirmation.Yes);
        AddExamples(
            ("hibp layout drop 1", "after a switch that you won't revert; asks first"),
            ("hibp layout drop 1 --yes", "without asking, for scripts"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var name = session.Parsed.GetRequiredValue(_name);
        _confirmation.RequireAnswerable(session.Parsed, "layout drop");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        await _confirmation.AskAsync(session, $"The tables of layout {name} will be deleted.", name, cancellationToken);
        await services.GetRequiredService<LayoutOperations>().DropAsync(
            name, () => session.Screen.Say("No longer written; waiting until its tables are no longer used."), cancellationToken);
        session.Screen.ShowResult(new LayoutDropDocument(name), $"Layout {name} and its tables are deleted.");
    }
}

internal sealed class LayoutRebuildCommand : HibpCommand
{
    private const int MinMemory = 16;
    private const int MaxMemory = 1024;

    private readonly Option<string> _into = new("--into")
    {
        Description = "Name of the layout. A new name adds a layout with tables accountsNAME and rangesNAME; an existing layout is "
            + "completed.",
        HelpName = "NAME",
        Required = true,
    };

    private readonly Option<string[]> _spread = new("--spread")
    {
        Description = "Split a domain into M partitions, 2 to 256, if it is too hot for one (2,000 entities a second). May be given "
            + "several times.",
        HelpName = "DOMAIN=M",
        DefaultValueFactory = _ => [],
    };

    private readonly Option<string?> _ranges = new("--ranges")
    {
        Description = "on or off: whether to write hashes for ranges. Default: as in the layout that is read.",
        HelpName = "on|off",
    };

    private readonly Option<string?> _accounts = new("--accounts")
    {
        Description = "Numbers of the storage accounts, in order: 1,2,3,4. Default: those of the layout that is read.",
        HelpName = "LIST",
    };

    private readonly Option<int> _memory = new("--memory")
    {
        Description = $"Memory for merging accounts, in MiB, {MinMemory} to {MaxMemory}.",
        HelpName = "MiB",
        DefaultValueFactory = _ => (int)(MergeAccounts.DefaultMemoryBytes >> 20),
    };

    private readonly Option<string?> _temp = new("--temp")
    {
        Description = "Folder for sorting, some 21 bytes a row. Its files are unlinked while open: nothing remains if the process is "
            + "killed (on Windows: when it ends). Default: the system's.",
        HelpName = "DIR",
    };

    public LayoutRebuildCommand()
        : base("rebuild", "Write all accounts into a layout (backfill) while hosts run: each account once with all its breaches, from the "
            + "journal, or from SQL for loads that the journal lacks. If interrupted, run the same command again: it resumes. Then run: "
            + "hibp layout switch.")
    {
        Add(_into, _spread, _ranges, _accounts, _memory, _temp);
        AddExamples(
            ("hibp layout rebuild --into wide --spread gmail.com=32 --accounts 1,2,3,4", "over four storage accounts (HIBP_STORAGE_2 to "
                + "_4), with gmail.com in 32 partitions"),
            ("hibp layout rebuild --into wide", "resumes an interrupted rebuild"),
            ("hibp layout rebuild --into plain --ranges off", "without ranges, in half the time"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var order = Read(session.Parsed);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var began = session.Time.GetTimestamp();
        var result = await RebuildAsync(session, services.GetRequiredService<RebuildLayout>(), order, cancellationToken);
        var took = session.Time.GetElapsedTime(began);
        session.Screen.ShowResult(RebuildDocument.Of(result, took),
            result.Loads == 0 ? $"Layout {result.Layout.Name} is complete; there was nothing to write."
            : $"Layout {result.Layout.Name} is complete: {TableFormat.Number(result.Rows)} rows of {result.Loads} loads, "
                + $"{TableFormat.Number(result.Accounts)} accounts written by {TableFormat.Number(result.Transactions)} requests in "
                + $"{TableFormat.Duration(took)} ({TableFormat.Number((long)(result.Accounts / took.TotalSeconds))} a second). 'hibp "
                + $"layout switch {result.Layout.Name}' switches reads to it.");
    }

    private static async Task<RebuildResult> RebuildAsync(
        CommandSession session, RebuildLayout rebuild, RebuildOrder order, CancellationToken cancellationToken)
    {
        var begun = false;
        try
        {
            return await RebuildView.ShowAsync(
                session.Screen, session.Time, progress => rebuild.RunAsync(order, progress, cancellationToken), () => begun = true);
        }
        catch (Exception) when (begun)
        {
            session.Screen.Say($"The rebuild was interrupted: loads write layout {order.Name} from now on, and 'hibp layout rebuild --into "
                + $"{order.Name}' resumes it.");
            throw;
        }
    }

    private RebuildOrder Read(ParseResult parsed)
    {
        var memory = parsed.GetValue(_memory);
        if (memory is < MinMemory or > MaxMemory)
            throw new WrongUsageException($"--memory: expected {MinMemory} to {MaxMemory} (MiB), found {memory}");
        return new RebuildOrder(parsed.GetRequiredValue(_into))
        {
            StorageAccounts = parsed.GetValue(_accounts) is { } list ? ReadAccounts(list) : null,
            SpreadDomains = parsed.GetResult(_spread) is { Implicit: false } ? ReadSpread(parsed.GetValue(_spread)!) : null,
            Ranges = parsed.GetValue(_ranges) switch
            {
                null => null,
                "on" => true,
                "off" => false,
                var other => throw new WrongUsageException($"--ranges: expected on or off, found '{other}'"),
            },
            MemoryBytes = (long)memory << 20,
            Folder = parsed.GetValue(_temp) ?? Path.GetTempPath(),
        };
    }

    private static List<int> ReadAccounts(string list) =>
    [
        .. list.Split(',', StringSplitOptions.TrimEntries).Select(number =>
            int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out var account) ? account
            : throw new WrongUsageException($"--accounts: expected numbers of storage accounts, as in 1,2,3, found '{list}'")),
    ];

    private static Dictionary<string, int> ReadSpread(string[] spread)
    {
        var domains = new Dictionary<string, int>();
        foreach (var one in spread)
        {
            var at = one.LastIndexOf('=');
            if (!one.AsSpan(0, Math.Max(at, 0)).Contains('.')
                || !int.TryParse(one.AsSpan(at + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var partitions)
                || !domains.TryAdd(one[..at].ToLowerInvariant(), partitions))
            {
                throw new WrongUsageException(
                    $"--spread: expected a domain and its partitions, each domain once, as in gmail.com=32, found '{one}'");
            }
        }
        return domains;
    }
}
