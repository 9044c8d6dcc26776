using HibpIngest.Breaches;
using HibpIngest.Messages;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Sends the pipeline's messages, each to its queue, and records what Sweep goes by.</summary>
public sealed class PipelineMessages(IMessageQueues queues, ILoads loads, ISlices slices, TimeProvider time)
{
    /// <summary>Nothing of ours is hidden for longer: what Sweep takes for lost has to be older.</summary>
    public static readonly TimeSpan LongestHidden = TimeSpan.FromMinutes(10);

    /// <summary>Messages sent at once.</summary>
    internal const int AtOnce = 16;

    // A queue refuses delays of 7 days and more.
    private static readonly TimeSpan LongestDelay = TimeSpan.FromDays(7) - TimeSpan.FromMinutes(1);

    /// <param name="message">Goes to the queue of its kind.</param>
    /// <param name="delay">How long it stays hidden.</param>
    public Task SendAsync(WorkMessage message, TimeSpan delay, CancellationToken cancellationToken) =>
        queues.SendAsync(message, delay < LongestDelay ? delay : LongestDelay, cancellationToken);

    /// <summary>Sends the message that a load in its state is gone on with by, and records when.</summary>
    public async Task SendLoadMessageAsync(PipelineMessage message, TimeSpan delay, CancellationToken cancellationToken)
    {
        await SendAsync(message, delay, cancellationToken);
        await MarkSentAsync(message.LoadId, cancellationToken);
    }

    /// <summary>Records that a load's message is on its way.</summary>
    public Task MarkSentAsync(long load, CancellationToken cancellationToken) => loads.MarkMessageSentAsync(load, cancellationToken);

    /// <summary>
    /// Sends a message that has met a living lease again, to be seen shortly after that lease's end: whatever
    /// became of its holder, the work is then gone on with within seconds. To be acknowledged only behind this.
    /// </summary>
    public async Task SendAfterLeaseAsync(
        PipelineMessage message, DateTimeOffset? expiresAt, TimeSpan lease, CancellationToken cancellationToken)
    {
        // Clocks differ: the rest of a lease is never more than all of it.
        var rest = TimeSpan.FromTicks(Math.Clamp(((expiresAt ?? default) - time.GetUtcNow()).Ticks, 0, lease.Ticks));
        var delay = rest + TimeSpan.FromSeconds(1 + (2 * Random.Shared.NextDouble()));
        await (message.MovesLoad
            ? SendLoadMessageAsync(message, delay, cancellationToken) : SendAsync(message, delay, cancellationToken));
    }

    /// <summary>
    /// One message a slice, all at once; then they are recorded as sent. A crash in between sends them twice,
    /// which changes nothing.
    /// </summary>
    public async Task SendSlicesAsync(IReadOnlyList<Slice> ready, CancellationToken cancellationToken)
    {
        var sending = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(ready, sending, async (slice, token) => await SendAsync(
            new SliceMessage { Load = slice.Load, Slice = slice.Number, First = slice.First, Last = slice.Last }, TimeSpan.Zero, token));
        foreach (var run in Runs(ready))
            await slices.MarkSlicesQueuedAsync(run.Load, run.First, run.Last, cancellationToken);
    }

    private static IEnumerable<(long Load, int First, int Last)> Runs(IReadOnlyList<Slice> slices)
    {
        for (var start = 0; start < slices.Count;)
        {
            var end = start;
            while (end + 1 < slices.Count && slices[end + 1].Load == slices[end].Load && slices[end + 1].Number == slices[end].Number + 1)
                end++;
            yield return (slices[start].Load, slices[start].Number, slices[end].Number);
            start = end + 1;
        }
    }
}
