using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>The messages that more than one stage sends.</summary>
internal static class PipelineContextMessages
{
    /// <summary>Nothing of ours is hidden for longer: what Sweep takes for lost has to be older.</summary>
    public static readonly TimeSpan LongestHidden = TimeSpan.FromMinutes(10);

    // A queue refuses delays of 7 days and more.
    private static readonly TimeSpan LongestDelay = TimeSpan.FromDays(7) - TimeSpan.FromMinutes(1);

    // Messages for so long: enough that no sender waits for one, few enough that a load that is held or hidden
    // leaves little behind.
    private static readonly TimeSpan MailsAhead = TimeSpan.FromMinutes(5);

    // Some 10 seconds of sending them.
    private const int MostMessagesAhead = 4_096;

    public static Task SendAsync(this PipelineContext context, string queue, PipelineMessage message, TimeSpan delay, CancellationToken cancellationToken) =>
        context.Queues.Get(queue).SendAsync(message.ToJson(), delay < LongestDelay ? delay : LongestDelay, cancellationToken);

    /// <summary>Sends the message that a load in its state is gone on with by, and records when.</summary>
    public static async Task SendLoadMessageAsync(this PipelineContext context, string queue, PipelineMessage message, CancellationToken cancellationToken)
    {
        await context.SendAsync(queue, message, TimeSpan.Zero, cancellationToken);
        await context.Database.MarkMessageSentAsync(message.LoadId, cancellationToken);
    }

    /// <summary>
    /// Sends a message that has met a living lease again, to be seen shortly after that lease's end: whatever
    /// became of its holder, the work is then gone on with within seconds. To be acknowledged only behind this.
    /// </summary>
    public static Task SendAfterLeaseAsync(
        this PipelineContext context, string queue, PipelineMessage message, DateTimeOffset? expiresAt, TimeSpan lease, CancellationToken cancellationToken)
    {
        // Clocks differ: the rest of a lease is never more than all of it.
        var rest = TimeSpan.FromTicks(Math.Clamp(((expiresAt ?? default) - context.Time.GetUtcNow()).Ticks, 0, lease.Ticks));
        return context.SendAsync(queue, message, rest + TimeSpan.FromSeconds(1 + (2 * Random.Shared.NextDouble())), cancellationToken);
    }

    /// <summary>
    /// One message a slice, all at once; then they are recorded as sent. A crash in between sends them twice,
    /// which changes nothing.
    /// </summary>
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
            await context.ReportLoadAsync(load);
        }
    }

    /// <summary>
    /// Whatever there is to be done now for the mails of a notifying load: it is done, or deferred ones are due, or
    /// its messages were lost, or more of them can be sent. May be run at any time,
    /// beside itself. Returns whether messages were lost.
    /// </summary>
    /// <param name="context">The pipeline.</param>
    /// <param name="load">The load.</param>
    /// <param name="lostAfter">Where none of its messages was sent for so long, they count as lost: longer than a
    /// message can stay hidden.</param>
    /// <param name="cancellationToken">Ends it between two messages.</param>
    public static async Task<bool> ContinueMailsAsync(this PipelineContext context, long load, TimeSpan lostAfter,
        CancellationToken cancellationToken)
    {
        const int DueAtOnce = 1_000;
        if (await context.Database.TryFinishLoadAsync(load, cancellationToken))
        {
            await context.ReportLoadAsync(load);
            return false;
        }
        while (await context.Database.TakeDueNotificationsAsync(load, DueAtOnce, cancellationToken) is { Count: > 0 } due)
        {
            foreach (var range in due.GroupBy(number => (number - 1) / context.Options.MailsPerMessage))
                await context.SendAsync(QueueNames.Mail, new MailMessage { Load = load, First = range.Min(), Last = range.Max() },
                    TimeSpan.Zero, cancellationToken);
            await context.Database.MarkMessageSentAsync(load, cancellationToken);
        }
        var lost = await context.Database.TryRestartMailsAsync(load, lostAfter, cancellationToken);
        await context.SendMailMessagesAsync(load, cancellationToken);
        return lost;
    }

    /// <summary>
    /// Messages for a load's next notifications, each delayed by its place: as many as the system's rate takes within
    /// some minutes, counted from the first one that waits. Each mail message that ends
    /// sends the next ones so, which is how far ahead of the mails the messages ever are: none waits hidden for days,
    /// and none has to be sent by an invocation that has no time left.
    /// They are recorded before they are sent, some at a time: of those that come here at once each sends others.
    /// What a crash keeps from being sent is sent behind
    /// <see cref="ContinueMailsAsync"/>.
    /// </summary>
    public static async Task SendMailMessagesAsync(this PipelineContext context, long load, CancellationToken cancellationToken)
    {
        const int AtOnce = 16;
        var (each, perSecond) = (context.Options.MailsPerMessage, context.Options.MailsPerSecond);
        var ahead = (long)each * (long)Math.Clamp(Math.Ceiling(perSecond * MailsAhead.TotalSeconds / each), AtOnce, MostMessagesAhead);
        while (await context.Database.GetMailProgressAsync(load, cancellationToken) is { MaySend: true, FirstWaiting: { } next } mails)
        {
            var from = Math.Max(mails.Queued, next - 1);
            var to = (int)Math.Min(Math.Min(mails.Last, next - 1 + ahead), from + ((long)AtOnce * each));
            if (from >= to)
                return;
            if (!await context.Database.TryQueueMailsAsync(load, mails.Queued, to, cancellationToken))
                continue;
            try
            {
                var sending = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
                await Parallel.ForEachAsync(Enumerable.Range(0, (to - from + each - 1) / each), sending, async (i, token) =>
                {
                    var first = from + 1 + (i * each);
                    var delay = TimeSpan.FromSeconds(Math.Min(Math.Floor((first - next) / perSecond), LongestHidden.TotalSeconds));
                    var message = new MailMessage { Load = load, First = first, Last = Math.Min(first + each - 1, to) };
                    await context.SendAsync(QueueNames.Mail, message, delay, token);
                });
            }
            catch
            {
                await IgnoreUnavailableAsync(() => context.Database.TryQueueMailsAsync(load, to, from, CancellationToken.None));
                throw;
            }
        }
    }

    /// <summary>For what is tried behind an error that is the one to show, or that the next call says again.</summary>
    public static async Task IgnoreUnavailableAsync(Func<Task> action)
    {
        try
        {
            await action();
        }
        catch (StoreUnavailableException)
        {
            // As the summary says.
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
