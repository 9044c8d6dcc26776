using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Cli.Commands;

internal sealed class CallbacksCommands() : CommandGroup(
    "callbacks", "Look after the calls of clients, those that were given up among them.", new CallbacksListCommand(),
    new CallbacksRetryCommand(), new CallbacksDropCommand());

/// <summary>A command on callbacks, optionally limited to one client or one breach.</summary>
internal abstract class CallbackCommand : HibpCommand
{
    protected CallbackCommand(string name, string description)
        : base(name, description)
    {
    }

    protected Argument<string?> Client { get; } = new("CLIENT")
    {
        Description = "Name of the client, or number of one that was removed; of all where none is named.",
        Arity = ArgumentArity.ZeroOrOne,
    };

    protected Option<string?> Breach { get; } = new("--breach")
    {
        Description = "Only what is called because of this breach.",
        HelpName = "NAME",
    };

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = session.Parsed.GetValue(Breach);
        if (breach is not null)
            breach = (await GetBreachAsync(services.GetRequiredService<IBreachDatabase>(), breach, cancellationToken)).Name;
        await RunAsync(
            session, services.GetRequiredService<CallbackOperations>(), session.Parsed.GetValue(Client)?.Trim(), breach, cancellationToken);
        return 0;
    }

    protected abstract Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken);
}

internal sealed class CallbacksListCommand : CallbackCommand
{
    public CallbacksListCommand()
        : base("list", "Show how many calls there are of each client and breach: answered, to be made yet, given up.") =>
        Examples = [("hibp callbacks list", "who hasn't accepted what")];

    protected override async Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken)
    {
        var found = await operations.ListAsync(cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new CallbackListDocument([.. found.Select(one => new CallbackItem(
                    one.Client, one.Summary.Client, one.Summary.Breach, one.Summary.Answered, one.Summary.Open, one.Summary.Dead,
                    one.Summary.Dropped, one.Summary.OldestOpen, one.Summary.Error))]),
                Documents.Default.CallbackListDocument);
            return;
        }
        if (found.Count == 0)
        {
            session.Screen.Show("No client was to be called yet; 'hibp clients add NAME --url URL' adds one.");
            return;
        }
        var table = TableFormat.Create("client", "breach", "answered", "to be made", "given up", "dropped", "oldest", "why");
        foreach (var column in (int[])[2, 3, 4, 5, 6])
            table.Columns[column].RightAligned();
        var now = session.Time.GetUtcNow();
        foreach (var (name, summary) in found)
        {
            table.AddRow(
                new Text(name ?? $"{summary.Client} (removed)"), new Text(summary.Breach), new Text(TableFormat.Number(summary.Answered)),
                new Text(TableFormat.Number(summary.Open)),
                new Text(TableFormat.Number(summary.Dead), new Style(summary.Dead > 0 ? Color.Red : Color.Default)),
                new Text(TableFormat.Number(summary.Dropped)),
                new Text(summary.OldestOpen is { } oldest ? TableFormat.Duration(now - oldest) : ""), new Text(summary.Error ?? ""));
        }
        session.Screen.Show(table);
    }
}

internal sealed class CallbacksRetryCommand : CallbackCommand
{
    public CallbacksRetryCommand()
        : base("retry", "Make calls that were given up, again under the same keys, and try them for as long as the first time.")
    {
        Add(Client);
        Add(Breach);
        Examples =
        [
            ("hibp callbacks retry contoso", "its server is back"),
            ("hibp callbacks retry --breach Adobe", "to everybody"),
        ];
    }

    protected override async Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken)
    {
        var (calls, loads) = await operations.RetryAsync(client, breach, cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(new CallbackChangeDocument(calls), Documents.Default.CallbackChangeDocument);
            return;
        }
        if (loads > 0)
            session.Screen.Show($"Slices of {loads} load{(loads == 1 ? "" : "s")} that could not be read are looked through again.");
        if (calls > 0 || loads == 0)
            session.Screen.Show(calls == 0 ? "No calls were given up." : $"{TableFormat.Number(calls)} calls are made again.");
    }
}

internal sealed class CallbacksDropCommand : CallbackCommand
{
    private readonly Option<bool> _open = new("--open") { Description = "Calls that are to be made yet, too." };
    private readonly Confirmation _confirmation = new();

    public CallbacksDropCommand()
        : base("drop", "Forget calls that were given up. The client is not told of what they say.")
    {
        Add(Client);
        Add(Breach);
        Add(_open);
        Add(_confirmation.Yes);
        Examples =
        [
            ("hibp callbacks drop contoso", "it isn't coming back"),
            ("hibp callbacks drop contoso --breach Adobe --open", "it is not to be called of that"),
        ];
    }

    protected override async Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "callbacks drop");
        var open = session.Parsed.GetValue(_open);
        await _confirmation.AskAsync(
            session,
            $"Calls {(open ? "that were given up, or are to be made yet," : "that were given up")} will be forgotten: "
            + $"of {client ?? "all clients"}, because of {breach ?? "all breaches"}.",
            client ?? breach ?? "all", cancellationToken);
        var calls = await operations.DropAsync(client, breach, open, cancellationToken);
        session.Screen.ShowResult(
            new CallbackChangeDocument(calls), Documents.Default.CallbackChangeDocument,
            $"{TableFormat.Number(calls)} calls are forgotten.");
    }
}
