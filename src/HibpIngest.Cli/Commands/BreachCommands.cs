using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Commands;

internal sealed class BreachListCommand : HibpCommand
{
    public BreachListCommand()
        : base("list", "List the breaches, their visibility and their number of accounts.")
    {
        AddExamples(("hibp breach list", "by name; \"at most\" marks a sum of loads that may share accounts"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breaches = await database.ListBreachesAsync(cancellationToken);
        var loads = (await database.ListLoadsAsync(null, cancellationToken)).ToLookup(
            load => load.Breach, StringComparer.OrdinalIgnoreCase);
        var removals = (await new RemovalStatus(database, database).ListAsync(cancellationToken)).ToDictionary(removal => removal.Breach);
        if (session.Screen.TryShowJson(() => new BreachesDocument([.. breaches.Select(breach => Document(
            breach, [.. loads[breach.Name]], removals.GetValueOrDefault(breach.Name)))])))
            return;
        Show(session.Screen, breaches, loads, removals);
    }

    internal static void Show(
        Screen screen, IReadOnlyList<Breach> breaches, ILookup<string, Load> loads, IReadOnlyDictionary<string, OpenRemoval> removals)
    {
        var table = TableFormat.Create("breach", "title", "domain", "date", "accounts", "loads", "seen by", "flags").AlignRight(4, 5);
        foreach (var breach in breaches)
        {
            var own = loads[breach.Name].ToList();
            table.AddRow(
                breach.Name, breach.Metadata.Title ?? "", breach.Metadata.Domain ?? "", TableFormat.Date(breach.Metadata.BreachDate),
                (IsAtMost(own) ? "at most " : "") + TableFormat.Number(Accounts(own)), TableFormat.Number(own.Count),
                removals.TryGetValue(breach.Name, out var removal) ? $"nobody (removing: {LoadFigures.Percent(removal.Part)})"
                    : SeenBy(breach),
                string.Join(", ", Flags(breach)));
        }
        screen.Show(table, ifEmpty: "There is no breach yet; 'hibp drop FILE' loads one.");
    }

    private static BreachDocument Document(Breach breach, IReadOnlyList<Load> loads, OpenRemoval? removal) => new(
        breach.Name, breach.Metadata.Title ?? breach.Name, breach.Metadata.Domain, breach.Metadata.BreachDate, breach.Metadata.Description,
        breach.Metadata.DataClasses,
        [.. Flags(breach)], breach.IsPublic, breach.Hidden, breach.PublishedAt, loads.Count, Accounts(loads), IsAtMost(loads))
    {
        // Only the storage account knows whether a process is working on it.
        Removal = removal is null ? null : RemovalDocument.Of(removal, running: null),
    };

    private static string SeenBy(Breach breach)
    {
        if (breach.IsPublic)
            return "everybody";
        if (breach.Hidden)
            return "nobody (hidden)";
        if (breach.PublishedAt is null)
            return "nobody yet";
        return breach.Metadata.Flags.HasFlag(BreachFlags.Retired) ? "nobody (retired)" : "owners (sensitive)";
    }

    public static Argument<string> NameArgument() => new("NAME") { Description = "Name of the breach." };

    // Counts only loads that are visible to lookups: a failed load may have been restarted as another, and a replaced one has a
    // successor, so either would count twice.
    private static long Accounts(IEnumerable<Load> loads) => loads.Where(load => load.PublishedAt is not null).Sum(load => load.Accounts);

    /// <summary>Returns whether the sum is only an upper bound: an account in several loads is counted in each.</summary>
    private static bool IsAtMost(IEnumerable<Load> loads) => loads.Count(load => load.PublishedAt is not null) > 1;

    public static IEnumerable<string> Flags(Breach breach) =>
        Enum.GetValues<BreachFlags>().Where(flag => flag != BreachFlags.None && breach.Metadata.Flags.HasFlag(flag)).Select(
            flag => char.ToLowerInvariant(flag.ToString()[0]) + flag.ToString()[1..]);
}

internal sealed class BreachHiddenCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachListCommand.NameArgument();
    private readonly bool _hidden;

    public BreachHiddenCommand(bool hidden)
        : base(hidden ? "hide" : "unhide", hidden ? "Hide a breach from all lookups, at once." : "Show a hidden breach in lookups again, "
            + "at once.")
    {
        _hidden = hidden;
        Add(_name);
        AddExamples(($"hibp breach {Name} Adobe", hidden ? "no lookup shows it from now on" : "undoes hide"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await services.GetRequiredService<BreachOperations>().SetHiddenAsync(
            session.Parsed.GetRequiredValue(_name), _hidden, cancellationToken);
        session.Screen.ShowResult(new BreachChangeDocument(breach.Name, _hidden, Removed: false, Entities: null),
            _hidden ? $"{breach.Name} is hidden from all lookups." : breach.IsPublic
            ? $"{breach.Name} is in lookups again." : $"{breach.Name} is no longer hidden, but no lookup shows it as it is.");
    }
}

internal sealed class BreachSetCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachListCommand.NameArgument();
    private readonly DescriptionOptions _described = new();

    public BreachSetCommand()
        : base("set", "Change the description and flags of a breach. Only this command clears a flag: metadata next to a dropped file can "
            + "only add flags.")
    {
        Add([_name, .. _described.All]);
        AddExamples(
            ("hibp breach set Adobe --title \"Adobe Systems\" --verified", "sets the title, and marks the breach as verified"),
            ("hibp breach set Adobe --sensitive false", "clears a flag: public lookups show the breach from now on"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        if (!_described.IsGiven(session.Parsed))
            throw new BadInputException("expected at least one property to set; see: hibp breach set --help");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await services.GetRequiredService<BreachOperations>().DescribeAsync(
            session.Parsed.GetRequiredValue(_name), JsonSerializer.SerializeToUtf8Bytes(_described.Read(session.Parsed)),
            cancellationToken);
        session.Screen.ShowResult(
            new BreachSetDocument(breach.Name, breach.Metadata.Title ?? breach.Name, [.. BreachListCommand.Flags(breach)],
                breach.IsPublic),
            $"{breach.Name} is updated; {(breach.IsPublic ? "public lookups show it" : "no public lookup shows it")}.");
    }
}

internal sealed class BreachAssignCommand : HibpCommand
{
    private readonly Argument<long> _load = new("LOAD") { Description = "Id of a load that is done, failed or held." };
    private readonly Argument<string> _name = BreachListCommand.NameArgument();

    public BreachAssignCommand()
        : base("assign", "Assign a load to a breach other than the one its file name gives. A load is held until you do so if its "
            + "metadata names another breach.")
    {
        Add(_load, _name);
        AddExamples(("hibp breach assign 12 Adobe", "assigns load 12 to the breach Adobe, which is created if it doesn't exist; 'hibp mail "
            + "release Adobe' then sends its mails"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var load = await services.GetRequiredService<AssignLoad>().RunAsync(
            new(session.Parsed.GetRequiredValue(_load)), session.Parsed.GetRequiredValue(_name), cancellationToken);
        session.Screen.ShowResult(Documents.Of(load),
            $"Load {load.Id} is assigned to "
            + $"{load.Breach}{(load.State == LoadState.Held ? $"; its mails wait for: hibp mail release {load.Breach}" : ".")}");
    }
}

internal sealed class BreachRemoveCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachListCommand.NameArgument();
    private readonly Confirmation _confirmation = new();

    public BreachRemoveCommand()
        : base("remove", "Remove a breach from all lookups, from every account in the tables, and from the database, with its current "
            + "loads. It can't be undone. If interrupted, run the same command again: it resumes.")
    {
        Add(_name, _confirmation.Yes);
        AddExamples(
            ("hibp breach remove Adobe", "asks for the breach's name; lookups stop showing it at once"),
            ("hibp breach remove Adobe --yes", "without asking, for scripts"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "breach remove");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(services, session.Parsed.GetRequiredValue(_name), cancellationToken);
        await _confirmation.AskAsync(
            session, $"This removes {breach.Name} from every account, and can't be undone.", breach.Name, cancellationToken);
        var removal = await RemoveAsync(session, services, breach.Name, cancellationToken);
        var isComplete = removal.RemainingLoads.Count == 0;
        var what = isComplete ? $"{breach.Name} is" : NameLoads(removal.Loads, "is", "are");
        var left = isComplete ? "" : $" {breach.Name} stays: {NameLoads(removal.RemainingLoads, "was", "were")} dropped later.";
        session.Screen.ShowResult(
            new BreachChangeDocument(breach.Name, breach.Hidden, Removed: isComplete, removal.Entities)
            {
                Loads = [.. removal.Loads.Select(load => load.Value)],
                LoadsLeft = [.. removal.RemainingLoads.Select(load => load.Value)],
            },
            $"{what} removed: {TableFormat.Number(removal.Entities)} accounts in the table were changed.{left}");
    }

    private static async Task<BreachRemoval> RemoveAsync(
        CommandSession session, ServiceProvider services, string breach, CancellationToken cancellationToken)
    {
        var hasStarted = false;
        // Status uses the heartbeats to tell a running removal from an interrupted one.
        await using var heartbeats = new HeartbeatSender(
            services.GetRequiredService<IHeartbeats>(), HostsView.Removing(breach), new BlockedWork(session.Time), session.Time);
        heartbeats.Start();
        try
        {
            return await ProgressSpinner.ShowAsync(session.Screen, $"removing {breach}", session.Time, progress =>
            {
                var noting = new ImmediateProgress<RemovalProgress>(value =>
                {
                    hasStarted = true;
                    progress.Report(value);
                });
                return services.GetRequiredService<RemoveBreach>().RunAsync(breach, noting, cancellationToken);
            });
        }
        catch (Exception e) when (hasStarted && e is not CatalogueBehindException)
        {
            session.Screen.Say(
                $"The removal of {breach} was interrupted: no lookup shows it any more, and 'hibp breach remove {breach}' resumes it.");
            throw;
        }
    }

    private static string NameLoads(IReadOnlyList<LoadId> loads, string one, string many) =>
        loads.Count == 1 ? $"Load {loads[0]} {one}" : $"Loads {string.Join(", ", loads)} {many}";
}
