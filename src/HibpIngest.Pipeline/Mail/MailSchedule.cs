namespace HibpIngest.Pipeline.Mail;

/// <summary>Sends the mail messages of a notifying load, some minutes ahead of its mails.</summary>
public sealed class MailSchedule(
    INotifications notifications, PipelineMessages messages, LoadReports reports, IOptions<MailOptions> options)
{
    // Enough that no sender waits for a message, few enough that a load that is held or hidden leaves few behind.
    private static readonly TimeSpan MailsAhead = TimeSpan.FromMinutes(5);

    // Sending them takes some 10 seconds.
    private const int MaxMessagesAhead = 4_096;

    /// <summary>Does all that is due for the mails of a load; safe to run concurrently. Returns whether messages were lost.</summary>
    /// <param name="lostAfter">Messages count as lost if none was sent for this long; must exceed the maximum delay of a message.</param>
    public async Task<bool> ContinueAsync(LoadId load, TimeSpan lostAfter, CancellationToken cancellationToken)
    {
        const int DueAtOnce = 1_000;
        if (await notifications.TryFinishLoadAsync(load, cancellationToken))
        {
            await reports.ReportAsync(load);
            return false;
        }
        while (await notifications.EndDeferralsAsync(load, DueAtOnce, cancellationToken) is { Count: > 0 } due)
        {
            foreach (var range in due.GroupBy(number => (number - 1) / options.Value.MailsPerMessage))
                await messages.SendAsync(
                    new MailMessage { Load = load.Value, First = range.Min(), Last = range.Max() }, TimeSpan.Zero, cancellationToken);
            await messages.MarkSentAsync(load, cancellationToken);
        }
        var lost = await notifications.TryRestartMailsAsync(load, lostAfter, cancellationToken);
        await SendNextAsync(load, cancellationToken);
        return lost;
    }

    /// <summary>Sends a message again, after a delay that is cut to the longest one of a message.</summary>
    public Task SendAgainAsync(MailMessage message, TimeSpan delay, CancellationToken cancellationToken) => messages.SendLoadMessageAsync(
        message, TimeSpan.FromTicks(Math.Clamp(delay.Ticks, 0, PipelineMessages.MaxHidden.Ticks)), cancellationToken);

    /// <summary>
    /// Sends messages for a load's next notifications, each delayed by its place: as many as the installation's rate allows within some
    /// minutes, counted from the first waiting notification. Each mail message that ends calls this again, so none is hidden for days or
    /// left to an invocation without time. They are recorded before they are sent, in groups, so that concurrent callers send different
    /// ones; ContinueAsync restarts those that were not sent because of a crash.
    /// </summary>
    public async Task SendNextAsync(LoadId load, CancellationToken cancellationToken)
    {
        const int MaxConcurrency = PipelineMessages.MaxConcurrency;
        var (each, perSecond) = (options.Value.MailsPerMessage, options.Value.MailsPerSecond);
        var wanted = Math.Ceiling(perSecond * MailsAhead.TotalSeconds / each);
        var ahead = (long)each * (long)Math.Clamp(wanted, MaxConcurrency, MaxMessagesAhead);
        while (await notifications.GetMailProgressAsync(load, cancellationToken) is { MaySend: true, FirstWaiting: { } next } mails)
        {
            var from = Math.Max(mails.Queued, next - 1);
            var to = (int)Math.Min(Math.Min(mails.Last, next - 1 + ahead), from + ((long)MaxConcurrency * each));
            if (from >= to)
                return;
            if (!await notifications.TryQueueMailsAsync(load, mails.Queued, to, cancellationToken))
                continue;
            try
            {
                var sending = Parallelism.Of(MaxConcurrency, cancellationToken);
                await Parallel.ForEachAsync(Enumerable.Range(0, (to - from + each - 1) / each), sending, async (i, token) =>
                {
                    var first = from + 1 + (i * each);
                    var delay = TimeSpan.FromSeconds(
                        Math.Min(Math.Floor((first - next) / perSecond), PipelineMessages.MaxHidden.TotalSeconds));
                    await messages.SendAsync(
                        new MailMessage { Load = load.Value, First = first, Last = Math.Min(first + each - 1, to) }, delay, token);
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
