using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Cli.Commands;

internal sealed class PoisonCommands() : CommandGroup(
    "poison", "Look after messages that have used up their tries.", new PoisonListCommand(), new PoisonRequeueCommand(),
    new PoisonPurgeCommand())
{
    /// <summary>Returns an argument for one of the pipeline's queues; it also accepts the name of the poison queue.</summary>
    public static Argument<string> Queue(ArgumentArity arity)
    {
        var queue = new Argument<string>("QUEUE")
        {
            Description = $"The queue they come from: {string.Join(", ", QueueNames.All)}.",
            Arity = arity,
            CustomParser = result => result.Tokens is [var token] ? WithoutSuffix(token.Value) : "",
        };
        queue.Validators.Add(result =>
        {
            if (result.Tokens is [var token] && !QueueNames.All.Contains(WithoutSuffix(token.Value)))
                result.AddError($"'{token.Value}' is none of the queues {string.Join(", ", QueueNames.All)}");
        });
        return queue;
    }

    private static string WithoutSuffix(string queue) =>
        queue.EndsWith(QueueNames.PoisonSuffix, StringComparison.Ordinal) ? queue[..^QueueNames.PoisonSuffix.Length] : queue;
}

internal sealed class PoisonListCommand : HibpCommand
{
    private const int MaxShown = 32;

    private readonly Argument<string> _queue = PoisonCommands.Queue(ArgumentArity.ZeroOrOne);

    public PoisonListCommand()
        : base("list", "Show how many there are, and the first 32 of them; of all queues when none is named.")
    {
        Add(_queue);
        Examples = [("hibp poison list breach-slices", "which slices' messages were given up")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var name = session.Parsed.GetValue(_queue);
        var queues = new List<PoisonQueueDocument>();
        foreach (var queue in string.IsNullOrEmpty(name) ? QueueNames.All : [name])
        {
            var poison = services.GetRequiredService<IMessageQueues>().Get(queue + QueueNames.PoisonSuffix);
            var messages = (await poison.GetDepthAsync(cancellationToken)).Messages;
            var head = messages == 0 ? [] : await poison.PeekAsync(MaxShown, cancellationToken);
            queues.Add(
                new PoisonQueueDocument(queue, messages, [.. head.Select(message => new PoisonMessageDocument(message.Id, message.Body))]));
        }
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(new PoisonDocument(queues), Documents.Default.PoisonDocument);
            return 0;
        }
        foreach (var queue in queues)
        {
            session.Screen.Show($"{queue.Queue}: {(queue.Messages == 0 ? "none" : TableFormat.Number(queue.Messages))}");
            if (queue.Messages == 0)
                continue;
            var table = TableFormat.Create("message", "body");
            foreach (var message in queue.Head)
                table.AddRow(new Text(message.Id), new Text(message.Body.ReplaceLineEndings(" ")));
            session.Screen.Show(table);
        }
        return 0;
    }
}

internal sealed class PoisonRequeueCommand : HibpCommand
{
    private readonly Argument<string> _queue = PoisonCommands.Queue(ArgumentArity.ExactlyOne);

    public PoisonRequeueCommand()
        : base("requeue", "Send all of them to their queue again.")
    {
        Add(_queue);
        Examples = [("hibp poison requeue breach-mail", "retry, once the cause is fixed")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var queue = session.Parsed.GetRequiredValue(_queue);
        var requeued = await services.GetRequiredService<PoisonQueue>().RequeueAsync(queue, cancellationToken);
        session.Screen.ShowResult(
            new QueueChangeDocument(queue, requeued), Documents.Default.QueueChangeDocument,
            $"{TableFormat.Number(requeued)} messages are in {queue} again.");
        return 0;
    }
}

internal sealed class PoisonPurgeCommand : HibpCommand
{
    private readonly Argument<string> _queue = PoisonCommands.Queue(ArgumentArity.ExactlyOne);

    public PoisonPurgeCommand()
        : base("purge", "Throw all of them away. What they stood for is still in the database: the sweep sends it again as long as its "
            + "load is open.")
    {
        Add(_queue);
        Examples = [("hibp poison purge breach-ingest", "forget messages that nobody needs")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var queue = session.Parsed.GetRequiredValue(_queue);
        var poison = services.GetRequiredService<IMessageQueues>().Get(queue + QueueNames.PoisonSuffix);
        var messages = (await poison.GetDepthAsync(cancellationToken)).Messages;
        await poison.ClearAsync(cancellationToken);
        session.Screen.ShowResult(
            new QueueChangeDocument(queue, messages), Documents.Default.QueueChangeDocument,
            $"{TableFormat.Number(messages)} messages were thrown away.");
        return 0;
    }
}
