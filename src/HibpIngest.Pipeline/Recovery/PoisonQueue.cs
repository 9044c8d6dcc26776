namespace HibpIngest.Pipeline.Recovery;

public sealed class PoisonQueue(IMessageQueues queues)
{
    /// <summary>Sends a poison queue's messages to its queue again, each before it is deleted. Returns their number.</summary>
    /// <param name="queue">The queue's name, with or without the poison suffix.</param>
    public async Task<int> RequeueAsync(string queue, CancellationToken cancellationToken)
    {
        const int PageSize = 32;
        queue = queue.EndsWith(QueueNames.PoisonSuffix, StringComparison.Ordinal) ? queue[..^QueueNames.PoisonSuffix.Length] : queue;
        if (!QueueNames.All.Contains(queue))
            throw new NotPossibleException(
                $"unknown queue '{queue}': expected one of {string.Join(", ", QueueNames.All)}");
        var poison = queues.Get(queue + QueueNames.PoisonSuffix);
        var sent = 0;
        while (await poison.ReceiveAsync(PageSize, TimeSpan.FromMinutes(1), cancellationToken) is { Count: > 0 } messages)
        {
            foreach (var message in messages)
            {
                await queues.Get(queue).SendAsync(message.Body, TimeSpan.Zero, cancellationToken);
                await poison.DeleteAsync(message, cancellationToken);
                sent++;
            }
        }
        return sent;
    }
}
