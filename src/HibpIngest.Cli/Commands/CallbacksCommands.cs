using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Cli.Commands;

internal abstract class CallbackCommand : HibpCommand
{
    protected CallbackCommand(string name, string description)
        : base(name, description)
    {
    }

    protected Argument<string?> Client { get; } = new("CLIENT")
    {
        Description = "Name of the client, or number of a removed one. Default: all clients.",
        Arity = ArgumentArity.ZeroOrOne,
    };

    protected Option<string?> Breach { get; } = new("--breach") { Description = "Only callbacks for this breach.", HelpName = "NAME" };

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = session.Parsed.GetValue(Breach);
        if (breach is not null)
            breach = (await GetBreachAsync(services, breach, cancellationToken)).Name;
        await RunAsync(
            session, services.GetRequiredService<CallbackOperations>(), session.Parsed.GetValue(Client)?.Trim(), breach, cancellationToken);
    }

    protected abstract Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken);
}

internal sealed class CallbacksListCommand : CallbackCommand
{
    public CallbacksListCommand()
        : base("list", "List the number of callbacks of each client and breach: answered, open, abandoned.") =>
        AddExamples(("hibp callbacks list", "which clients have open callbacks"));

    protected override async Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken)
    {
        var found = await operations.ListAsync(cancellationToken);
        if (session.Screen.TryShowJson(() => new CallbackListDocument([.. found.Select(one => new CallbackItem(
            one.Client, one.Summary.Client, one.Summary.Breach, one.Summary.Answered, one.Summary.Open, one.Summary.Abandoned,
            one.Summary.Dropped, one.Summary.OldestOpen, one.Summary.Error))])))
            return;
        var table = TableFormat.Create("client", "breach", "answered", "open", "abandoned", "dropped", "oldest", "last error")
            .AlignRight(2, 3, 4, 5, 6);
        var now = session.Time.GetUtcNow();
        foreach (var (name, summary) in found)
        {
            table.AddRow(
                new Text(name ?? $"{summary.Client} (removed)"), new Text(summary.Breach), new Text(TableFormat.Number(summary.Answered)),
                new Text(TableFormat.Number(summary.Open)),
                new Text(TableFormat.Number(summary.Abandoned), new Style(summary.Abandoned > 0 ? Color.Red : Color.Default)),
                new Text(TableFormat.Number(summary.Dropped)),
                new Text(summary.OldestOpen is { } oldest ? TableFormat.Duration(now - oldest) : ""), new Text(summary.Error ?? ""));
        }
        session.Screen.Show(table, ifEmpty: "There are no callbacks yet; 'hibp clients add NAME --url URL' adds a client.");
    }
}

internal sealed class CallbacksRetryCommand : CallbackCommand
{
    public CallbacksRetryCommand()
        : base("retry", "Retry callbacks that were abandoned, with the same idempotency keys and the same time limit as before.")
    {
        Add(Client, Breach);
        AddExamples(
            ("hibp callbacks retry contoso", "after its server is back"),
            ("hibp callbacks retry --breach Adobe", "to all clients"));
    }

    protected override async Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken)
    {
        var (calls, loads) = await operations.RetryAsync(client, breach, cancellationToken);
        if (session.Screen.TryShowJson(() => new CallbackChangeDocument(calls)))
            return;
        if (loads > 0)
            session.Screen.Show($"{loads} load{(loads == 1 ? "" : "s")} with slices that could not be read are searched again.");
        if (calls > 0 || loads == 0)
            session.Screen.Show(calls == 0 ? "There are no calls to retry." : $"{TableFormat.Number(calls)} calls are retried.");
    }
}

internal sealed class CallbacksDropCommand : CallbackCommand
{
    private readonly Option<bool> _open = new("--open") { Description = "Also drop open callbacks." };
    private readonly Confirmation _confirmation = new();

    public CallbacksDropCommand()
        : base("drop", "Drop callbacks that were abandoned. The client is not notified.")
    {
        Add(Client, Breach, _open, _confirmation.Yes);
        AddExamples(
            ("hibp callbacks drop contoso", "the client is shut down"),
            ("hibp callbacks drop contoso --breach Adobe --open", "including open callbacks for this breach"));
    }

    protected override async Task RunAsync(
        CommandSession session, CallbackOperations operations, string? client, string? breach, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "callbacks drop");
        var open = session.Parsed.GetValue(_open);
        await _confirmation.AskAsync(
            session,
            $"Callbacks that were abandoned{(open ? " or are open" : "")} will be dropped: of {client ?? "all clients"}, because of "
            + $"{breach ?? "all breaches"}.",
            client ?? breach ?? "all", cancellationToken);
        var calls = await operations.DropAsync(client, breach, open, cancellationToken);
        session.Screen.ShowResult(new CallbackChangeDocument(calls), $"{TableFormat.Number(calls)} calls are dropped.");
    }
}
