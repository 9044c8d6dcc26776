using System.Text.Json;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Commands;

internal sealed class BreachCommands() : CommandGroup(
    "breach", "Hide a breach from lookups, show it again, change its description, assign a load to it, or remove it.",
    new BreachHiddenCommand(true, "hide", "Take a breach out of every lookup, at once.", "no lookup shows it from now on"),
    new BreachHiddenCommand(false, "show", "Put a hidden breach back into lookups, at once.", "undo hiding it"), new BreachSetCommand(),
    new BreachAssignCommand(), new BreachRemoveCommand())
{
    public static Argument<string> NameArgument() => new("NAME") { Description = "Name of the breach." };

    /// <summary>Hides or shows a breach; in effect when it returns.</summary>
    public static async Task<int> SetHiddenAsync(CommandSession session, string name, bool hidden, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await services.GetRequiredService<BreachOperations>().SetHiddenAsync(name, hidden, cancellationToken);
        session.Screen.ShowResult(
            new BreachChangeDocument(breach.Name, hidden, Removed: false, Entities: null), Documents.Default.BreachChangeDocument,
            hidden ? $"{breach.Name} is out of every lookup." : breach.IsPublic
            ? $"{breach.Name} is in lookups again." : $"{breach.Name} is no longer hidden; as it is, no lookup shows it.");
        return 0;
    }
}

internal sealed class BreachHiddenCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachCommands.NameArgument();
    private readonly bool _hidden;

    public BreachHiddenCommand(bool hidden, string name, string description, string purpose)
        : base(name, description)
    {
        _hidden = hidden;
        Add(_name);
        Examples = [($"hibp breach {name} Adobe", purpose)];
    }

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        BreachCommands.SetHiddenAsync(session, session.Parsed.GetRequiredValue(_name), _hidden, cancellationToken);
}

internal sealed class BreachSetCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachCommands.NameArgument();
    private readonly DescriptionOptions _described = new();

    public BreachSetCommand()
        : base("set", "Change what is known of a breach, flags taken back included. Metadata beside a file only adds flags: whoever may "
            + "drop a file does not make a sensitive breach public.")
    {
        Add(_name);
        foreach (var option in _described.All)
            Add(option);
        Examples =
        [
            ("hibp breach set Adobe --title \"Adobe Systems\" --verified", "a better title, and it is confirmed by now"),
            ("hibp breach set Adobe --sensitive false", "take a flag back: public lookups show it from now on"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        if (!_described.IsGiven(session.Parsed))
            throw new BadInputException("nothing to set was given; see: hibp breach set --help");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await services.GetRequiredService<BreachOperations>().DescribeAsync(
            session.Parsed.GetRequiredValue(_name), JsonSerializer.SerializeToUtf8Bytes(_described.Read(session.Parsed)),
            cancellationToken);
        session.Screen.ShowResult(
            new BreachSetDocument(breach.Name, breach.Metadata.Title ?? breach.Name, [.. BreachesCommand.Flags(breach)],
                breach.IsPublic), Documents.Default.BreachSetDocument,
            $"{breach.Name} is updated; {(breach.IsPublic ? "public lookups show it" : "no public lookup shows it")}.");
        return 0;
    }
}

internal sealed class BreachAssignCommand : HibpCommand
{
    private readonly Argument<long> _load = new("LOAD") { Description = "Id of the load: done, failed or held." };
    private readonly Argument<string> _name = BreachCommands.NameArgument();

    public BreachAssignCommand()
        : base(
            "assign", "Give a load to another breach than its file's name says. A load whose metadata names another breach waits for this.")
    {
        Add(_load);
        Add(_name);
        Examples = [("hibp breach assign 12 Adobe", "load 12 is of the breach Adobe, which is made where there is none; hibp notify Adobe "
            + "then releases its mails")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var load = await services.GetRequiredService<LoadOperations>().AssignAsync(
            session.Parsed.GetRequiredValue(_load), session.Parsed.GetRequiredValue(_name), cancellationToken);
        session.Screen.ShowResult(
            Documents.Of(load), Documents.Default.LoadDocument,
            $"Load {load.Id} is of {load.Breach} "
            + $"now{(load.State == LoadState.Held ? $"; its mails wait for: hibp notify {load.Breach}" : ".")}");
        return 0;
    }
}

internal sealed class BreachRemoveCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachCommands.NameArgument();
    private readonly Confirmation _confirmation = new();

    public BreachRemoveCommand()
        : base(
            "remove",
            "Take a breach out of every lookup, off every account in the table, and out of the database with the loads it has now. "
            + "It can't be undone; broken off, it is run again.")
    {
        Add(_name);
        Add(_confirmation.Yes);
        Examples =
        [
            ("hibp breach remove Adobe", "has its name typed first; readers are done at once, the rest takes its time"),
            ("hibp breach remove Adobe --yes", "the same in a script, where nobody can be asked"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "breach remove");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(
            services.GetRequiredService<IBreachDatabase>(), session.Parsed.GetRequiredValue(_name), cancellationToken);
        await _confirmation.AskAsync(
            session, $"This takes {breach.Name} off every account, and can't be undone.", breach.Name, cancellationToken);
        var removal = await RemoveAsync(session, services, breach.Name, cancellationToken);
        var gone = removal.Left.Count == 0;
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new BreachChangeDocument(breach.Name, breach.Hidden, Removed: gone, removal.Entities)
                {
                    Loads = removal.Loads,
                    LoadsLeft = removal.Left,
                },
                Documents.Default.BreachChangeDocument);
        }
        else
        {
            var what = gone ? $"{breach.Name} is" : NameLoads(removal.Loads, "is", "are");
            var left = gone ? "" : $" {breach.Name} stays: {NameLoads(removal.Left, "was", "were")} dropped later.";
            session.Screen.Show($"{what} gone: {TableFormat.Number(removal.Entities)} accounts in the table were changed.{left}");
        }
        return 0;
    }

    /// <summary>Removes a breach. If the removal is interrupted, for any reason, the message says how to resume it.</summary>
    private static async Task<BreachRemoval> RemoveAsync(
        CommandSession session, ServiceProvider services, string breach, CancellationToken cancellationToken)
    {
        var begun = false;
        // Status uses the heartbeats to tell a running removal from an interrupted one.
        await using var signs = new HeartbeatSender(
            services.GetRequiredService<IHeartbeats>(), HostsView.Removing(breach), new BlockedWork(session.Time), session.Time);
        signs.Start();
        try
        {
            return await ProgressSpinner.ShowAsync(session.Screen, $"removing {breach}", session.Time, progress =>
            {
                var noting = new ImmediateProgress<RemovalProgress>(value =>
                {
                    begun = true;
                    progress.Report(value);
                });
                return services.GetRequiredService<RemoveBreach>().RunAsync(breach, noting, cancellationToken);
            });
        }
        catch (Exception e) when (begun && e is not CatalogueBehindException)
        {
            session.Screen.Say(
                $"The removal of {breach} was interrupted: no lookup shows it any more, and 'hibp breach remove {breach}' resumes it.");
            throw;
        }
    }

    /// <summary>Formats load ids: "Load 3 is", "Loads 3, 4 are".</summary>
    private static string NameLoads(IReadOnlyList<long> loads, string one, string many) =>
        loads.Count == 1 ? $"Load {loads[0]} {one}" : $"Loads {string.Join(", ", loads)} {many}";
}
