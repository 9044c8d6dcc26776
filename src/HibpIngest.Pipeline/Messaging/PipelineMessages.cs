namespace HibpIngest.Pipeline.Messaging;

/// <summary>Sends the pipeline's messages, each to its queue, and records the send times that Sweep uses.</summary>
public sealed class PipelineMessages(IMessageQueues queues, ILoads loads, ISlices slices, TimeProvider time)
{
    /// <summary>Maximum delay of these messages. A message counts as lost only when it is older.</summary>
    public static readonly TimeSpan MaxHidden = TimeSpan.FromMinutes(10);

    internal const int MaxConcurrency = 16;

    // Azure queues refuse delays of 7 days and more.
    private static readonly TimeSpan MaxDelay = TimeSpan.FromDays(7) - TimeSpan.FromMinutes(1);

    public Task SendAsync(WorkMessage message, TimeSpan delay, CancellationToken cancellationToken) =>
        queues.SendAsync(message, delay < MaxDelay ? delay : MaxDelay, cancellationToken);

    /// <summary>Sends the message that continues a load in its current state, and records when.</summary>
    public async Task SendLoadMessageAsync(PipelineMessage message, TimeSpan delay, CancellationToken cancellationToken)
    {
        await SendAsync(message, delay, cancellationToken);
        await MarkSentAsync(message.LoadId, cancellationToken);
    }

    public Task MarkSentAsync(LoadId load, CancellationToken cancellationToken) => loads.MarkMessageSentAsync(load, cancellationToken);

    /// <summary>
    /// Sends a message that met a live lease again, visible shortly after the lease's end, so that the work continues within seconds even
    /// if the holder died. The original must be acknowledged only after this.
    /// </summary>
    public async Task SendAfterLeaseAsync(
        PipelineMessage message, DateTimeOffset? expiresAt, TimeSpan lease, CancellationToken cancellationToken)
    {
        // Clocks differ: the rest of a lease is at most its whole duration.
        var rest = TimeSpan.FromTicks(Math.Clamp(((expiresAt ?? default) - time.GetUtcNow()).Ticks, 0, lease.Ticks));
        var delay = rest + TimeSpan.FromSeconds(1 + (2 * Random.Shared.NextDouble()));
        await (message.MovesLoad
            ? SendLoadMessageAsync(message, delay, cancellationToken) : SendAsync(message, delay, cancellationToken));
    }

    /// <summary>Sends a message for each slice, then records them as sent. A crash in between causes harmless duplicates.</summary>
    public async Task SendSlicesAsync(IReadOnlyList<Slice> ready, CancellationToken cancellationToken)
    {
        await Parallel.ForEachAsync(ready, Parallelism.Of(MaxConcurrency, cancellationToken), async (one, token) => await SendAsync(
            new SliceMessage { Load = one.Load.Value, Slice = one.Number, First = one.First, Last = one.Last }, TimeSpan.Zero, token));
        foreach (var run in Runs(ready))
            await slices.MarkSlicesQueuedAsync(run.Load, run.First, run.Last, cancellationToken);
    }

    private static IEnumerable<(LoadId Load, int First, int Last)> Runs(IReadOnlyList<Slice> slices)
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
