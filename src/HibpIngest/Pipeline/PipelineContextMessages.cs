using HibpIngest.Breaches;

namespace HibpIngest.Pipeline;

/// <summary>The messages that more than one stage sends.</summary>
internal static class PipelineContextMessages
{
    // A queue refuses delays of 7 days and more; a mail whose place lies beyond is sent a little early rather than not at all.
    private static readonly TimeSpan LongestDelay = TimeSpan.FromDays(7) - TimeSpan.FromMinutes(1);

    public static Task SendAsync(this PipelineContext context, string queue, PipelineMessage message, TimeSpan delay, CancellationToken cancellationToken) =>
        context.Queues.Get(queue).SendAsync(message.ToJson(), delay < LongestDelay ? delay : LongestDelay, cancellationToken);

    /// <summary>Sends the message that a load in its state is gone on with by, and records when.</summary>
    public static async Task SendLoadMessageAsync(this PipelineContext context, string queue, PipelineMessage message, CancellationToken cancellationToken)
    {
        await context.SendAsync(queue, message, TimeSpan.Zero, cancellationToken);
        await context.Database.MarkMessageSentAsync(message.LoadId, cancellationToken);
    }

    /// <summary>
    /// Sends a message that has met a living lease again, to be seen shortly after that lease's end: whatever became of its holder, the work is then gone on with within seconds. To be
    /// acknowledged only behind this.
    /// </summary>
    public static Task SendAfterLeaseAsync(
        this PipelineContext context, string queue, PipelineMessage message, DateTimeOffset? expiresAt, TimeSpan lease, CancellationToken cancellationToken)
    {
        // Clocks differ: the rest of a lease is never more than all of it.
        var rest = TimeSpan.FromTicks(Math.Clamp(((expiresAt ?? default) - context.Time.GetUtcNow()).Ticks, 0, lease.Ticks));
        return context.SendAsync(queue, message, rest + TimeSpan.FromSeconds(1 + (2 * Random.Shared.NextDouble())), cancellationToken);
    }

    /// <summary>One message a slice, all at once; then they are recorded as sent. A crash in between sends them twice, which changes nothing.</summary>
    public static async Task SendSlicesAsync(this PipelineContext context, IReadOnlyList<Slice> slices, CancellationToken cancellationToken)
    {
        const int AtOnce = 16;
        var sending = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(slices, sending, async (slice, token) => await context.SendAsync(
            QueueNames.Slices, new SliceMessage { Load = slice.Load, Slice = slice.Number, First = slice.First, Last = slice.Last }, TimeSpan.Zero, token));
        foreach (var run in Runs(slices))
            await context.Database.MarkSlicesQueuedAsync(run.Load, run.First, run.Last, cancellationToken);
    }

    /// <summary>The completion statement; whoever changes the row sends the message.</summary>
    public static async Task CompleteUpsertAsync(this PipelineContext context, long load, CancellationToken cancellationToken)
    {
        if (await context.Database.TryStartMatchingAsync(load, cancellationToken))
        {
            await context.SendLoadMessageAsync(QueueNames.Match, new MatchMessage { Load = load }, cancellationToken);
            await context.TellLoadAsync(load);
        }
    }

    /// <summary>Messages for all notifications of a load, each delayed by its place, so that the whole system keeps to the rate.</summary>
    public static async Task SendMailMessagesAsync(this PipelineContext context, long load, int notifications, CancellationToken cancellationToken)
    {
        var perMessage = context.Options.MailsPerMessage;
        for (var first = 1; first <= notifications; first += perMessage)
        {
            var delay = TimeSpan.FromSeconds(Math.Floor((first - 1) / context.Options.MailsPerSecond));
            var message = new MailMessage { Load = load, First = first, Last = Math.Min(first + perMessage - 1, notifications) };
            await context.SendAsync(QueueNames.Mail, message, delay, cancellationToken);
        }
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
