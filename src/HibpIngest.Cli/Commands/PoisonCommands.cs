using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Cli.Commands;

internal static class PoisonCommands
{
    /// <summary>Returns an argument for one of the pipeline's queues; it also accepts the name of the poison queue.</summary>
    public static Argument<string> Queue(ArgumentArity arity)
    {
        var queue = new Argument<string>("QUEUE")
        {
            Description = $"The original queue: {string.Join(", ", QueueNames.All)}.",
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
        : base("list", "Show the number of poison messages, and the first 32, of one queue or of all.")
    {
        Add(_queue);
        AddExamples(("hibp poison list breach-slices", "messages of slices that failed too often"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
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
        if (session.Screen.TryShowJson(() => new PoisonDocument(queues)))
            return;
        foreach (var queue in queues)
        {
            session.Screen.Show($"{queue.Queue}: {(queue.Messages == 0 ? "none" : TableFormat.Number(queue.Messages))}");
            if (queue.Messages == 0)
                continue;
            var table = TableFormat.Create("message", "body")
                .AddRows(queue.Head, message => [message.Id, message.Body.ReplaceLineEndings(" ")]);
            session.Screen.Show(table);
        }
    }
}

internal sealed class PoisonRequeueCommand : HibpCommand
{
    private readonly Argument<string> _queue = PoisonCommands.Queue(ArgumentArity.ExactlyOne);

    public PoisonRequeueCommand()
        : base("requeue", "Move all messages back to their queue.")
    {
        Add(_queue);
        AddExamples(("hibp poison requeue breach-mail", "retries them, once the cause is fixed"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var queue = session.Parsed.GetRequiredValue(_queue);
        var requeued = await services.GetRequiredService<PoisonQueue>().RequeueAsync(queue, cancellationToken);
        session.Screen.ShowResult(new QueueChangeDocument(queue, requeued),
            $"{TableFormat.Number(requeued)} messages were moved back to {queue}.");
    }
}

internal sealed class PoisonPurgeCommand : HibpCommand
{
    private readonly Argument<string> _queue = PoisonCommands.Queue(ArgumentArity.ExactlyOne);

    public PoisonPurgeCommand()
        : base("purge", "Delete all messages. Sweep resends the work of open loads. Commands (hibp-commands) are lost: people must make "
            + "them again.")
    {
        Add(_queue);
        AddExamples(("hibp poison purge breach-ingest", "deletes messages that are no longer needed"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var queue = session.Parsed.GetRequiredValue(_queue);
        var poison = services.GetRequiredService<IMessageQueues>().Get(queue + QueueNames.PoisonSuffix);
        var messages = (await poison.GetDepthAsync(cancellationToken)).Messages;
        await poison.ClearAsync(cancellationToken);
        session.Screen.ShowResult(new QueueChangeDocument(queue, messages), $"{TableFormat.Number(messages)} messages were deleted.");
    }
}
