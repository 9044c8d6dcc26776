using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Sends the mail messages of a notifying load, some minutes ahead of its mails.</summary>
public sealed class MailSchedule(
    INotifications notifications, PipelineMessages messages, LoadReports reports, IOptions<MailOptions> options)
{
    // Messages for so long: enough that no sender waits for one, few enough that a load that is held or hidden
    // leaves little behind.
    private static readonly TimeSpan MailsAhead = TimeSpan.FromMinutes(5);

    // Some 10 seconds of sending them.
    private const int MostMessagesAhead = 4_096;

    /// <summary>
    /// Whatever there is to be done now for the mails of a notifying load: it is done, or deferred ones are due, or
    /// its messages were lost, or more of them can be sent. May be run at any time,
    /// beside itself. Returns whether messages were lost.
    /// </summary>
    /// <param name="lostAfter">Where none of its messages was sent for so long, they count as lost: longer than a
    /// message can stay hidden.</param>
    /// <param name="cancellationToken">Ends it between two messages.</param>
    public async Task<bool> ContinueAsync(long load, TimeSpan lostAfter, CancellationToken cancellationToken)
    {
        const int DueAtOnce = 1_000;
        if (await notifications.TryFinishLoadAsync(load, cancellationToken))
        {
            await reports.ReportAsync(load);
            return false;
        }
        while (await notifications.TakeDueNotificationsAsync(load, DueAtOnce, cancellationToken) is { Count: > 0 } due)
        {
            foreach (var range in due.GroupBy(number => (number - 1) / options.Value.MailsPerMessage))
                await messages.SendAsync(
                    new MailMessage { Load = load, First = range.Min(), Last = range.Max() }, TimeSpan.Zero, cancellationToken);
            await messages.MarkSentAsync(load, cancellationToken);
        }
        var lost = await notifications.TryRestartMailsAsync(load, lostAfter, cancellationToken);
        await SendNextAsync(load, cancellationToken);
        return lost;
    }

    /// <summary>
    /// Messages for a load's next notifications, each delayed by its place: as many as the system's rate takes within
    /// some minutes, counted from the first one that waits. Each mail message that ends
    /// sends the next ones so, which is how far ahead of the mails the messages ever are: none waits hidden for days,
    /// and none has to be sent by an invocation that has no time left.
    /// They are recorded before they are sent, some at a time: of those that come here at once each sends others.
    /// What a crash keeps from being sent is sent behind
    /// <see cref="ContinueAsync"/>.
    /// </summary>
    public async Task SendNextAsync(long load, CancellationToken cancellationToken)
    {
        const int AtOnce = PipelineMessages.AtOnce;
        var (each, perSecond) = (options.Value.MailsPerMessage, options.Value.MailsPerSecond);
        var ahead = (long)each * (long)Math.Clamp(Math.Ceiling(perSecond * MailsAhead.TotalSeconds / each), AtOnce, MostMessagesAhead);
        while (await notifications.GetMailProgressAsync(load, cancellationToken) is { MaySend: true, FirstWaiting: { } next } mails)
        {
            var from = Math.Max(mails.Queued, next - 1);
            var to = (int)Math.Min(Math.Min(mails.Last, next - 1 + ahead), from + ((long)AtOnce * each));
            if (from >= to)
                return;
            if (!await notifications.TryQueueMailsAsync(load, mails.Queued, to, cancellationToken))
                continue;
            try
            {
                var sending = new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = cancellationToken };
                await Parallel.ForEachAsync(Enumerable.Range(0, (to - from + each - 1) / each), sending, async (i, token) =>
                {
                    var first = from + 1 + (i * each);
                    var delay = TimeSpan.FromSeconds(
                        Math.Min(Math.Floor((first - next) / perSecond), PipelineMessages.LongestHidden.TotalSeconds));
                    await messages.SendAsync(
                        new MailMessage { Load = load, First = first, Last = Math.Min(first + each - 1, to) }, delay, token);
                });
            }
            catch
            {
                await StageRunner.IgnoreUnavailableAsync(() => notifications.TryQueueMailsAsync(load, to, from, CancellationToken.None));
                throw;
            }
        }
    }
}
