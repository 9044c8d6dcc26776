using System.CommandLine;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Pipeline;

namespace HibpIngest.Cli.Commands;

/// <summary>hibp breach.</summary>
internal sealed class BreachCommands() : CommandGroup(
    "breach", "Hide a breach from lookups, show it again, or remove it.", new BreachHideCommand(), new BreachShowCommand(), new BreachRemoveCommand())
{
    public static Argument<string> NameArgument() => new("NAME") { Description = "Name of the breach." };

    /// <summary>Hides or shows; in force at once.</summary>
    public static async Task<int> SetHiddenAsync(CommandSession session, string name, bool hidden, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        if (!await database.SetHiddenAsync(name, hidden, cancellationToken) || await database.GetBreachAsync(name, cancellationToken) is not { } breach)
            throw new NotPossibleException($"there is no breach '{name}'; hibp breaches lists those there are");
        if (session.Screen.Json)
            session.Screen.ShowJson(new BreachChangeDocument(breach.Name, hidden, Removed: false, Entities: null), Documents.Default.BreachChangeDocument);
        else
            session.Screen.Show(hidden ? $"{breach.Name} is out of every lookup." : breach.IsPublic ? $"{breach.Name} is in lookups again." : $"{breach.Name} is no longer hidden; as it is, no lookup shows it.");
        return 0;
    }
}

/// <summary>hibp breach hide.</summary>
internal sealed class BreachHideCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachCommands.NameArgument();

    public BreachHideCommand()
        : base("hide", "Take a breach out of every lookup, at once.")
    {
        Add(_name);
        Examples = [("hibp breach hide Adobe", "no lookup shows it from now on")];
    }

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        BreachCommands.SetHiddenAsync(session, session.Parsed.GetRequiredValue(_name), hidden: true, cancellationToken);
}

/// <summary>hibp breach show.</summary>
internal sealed class BreachShowCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachCommands.NameArgument();

    public BreachShowCommand()
        : base("show", "Put a hidden breach back into lookups, at once.")
    {
        Add(_name);
        Examples = [("hibp breach show Adobe", "undo hiding it")];
    }

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        BreachCommands.SetHiddenAsync(session, session.Parsed.GetRequiredValue(_name), hidden: false, cancellationToken);
}

/// <summary>hibp breach remove.</summary>
internal sealed class BreachRemoveCommand : HibpCommand
{
    private readonly Argument<string> _name = BreachCommands.NameArgument();
    private readonly Confirmation _confirmation = new();

    public BreachRemoveCommand()
        : base("remove", "Take a breach off every account in the table, then out of the database with all of its loads. It can't be undone.")
    {
        Add(_name);
        Add(_confirmation.Yes);
        Examples =
        [
            ("hibp breach remove Adobe", "has its name typed first, then reads through the whole table"),
            ("hibp breach remove Adobe --yes", "the same in a script, where nobody can be asked"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "breach remove");
        await using var pipeline = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(pipeline.Context.Database, session.Parsed.GetRequiredValue(_name), cancellationToken);
        await _confirmation.AskAsync(session, $"This takes {breach.Name} off every account, and can't be undone.", breach.Name, cancellationToken);
        var entities = await Work.ShowAsync(session.Screen, $"removing {breach.Name}: accounts changed", progress =>
            new Operations(pipeline.Context).RemoveBreachAsync(breach.Name, progress, cancellationToken));
        if (session.Screen.Json)
            session.Screen.ShowJson(new BreachChangeDocument(breach.Name, breach.Hidden, Removed: true, entities), Documents.Default.BreachChangeDocument);
        else
            session.Screen.Show($"{breach.Name} is gone: {Tables.Number(entities)} accounts in the table were changed.");
        return 0;
    }
}
