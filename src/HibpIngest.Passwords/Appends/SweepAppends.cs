namespace HibpIngest.Passwords.Appends;

/// <summary>Resends messages of confirmed transactions that were not added in time, and deletes old transactions.</summary>
public sealed partial class SweepAppends(IPasswordAppends appends, IMessageQueues queues, TimeProvider time, ILogger<SweepAppends> log)
{
    /// <summary>Time for which a transaction can be confirmed: the one that Have I Been Pwned documents.</summary>
    public static readonly TimeSpan UnconfirmedFor = TimeSpan.FromHours(24);

    /// <summary>Grows to the transaction's age when the last message was sent, if that is longer.</summary>
    public static readonly TimeSpan SendAgainAfter = TimeSpan.FromMinutes(10);

    // Until then a repeated confirmation succeeds; after it, no message can still be in flight.
    private static readonly TimeSpan DoneFor = TimeSpan.FromDays(7);

    private static readonly TimeSpan LateAfter = TimeSpan.FromDays(1);

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var late = 0;
        await foreach (var one in appends.ListAsync(cancellationToken))
        {
            var now = time.GetUtcNow();
            var isOld = one.State switch
            {
                AppendState.Submitted => now - one.CreatedAt >= UnconfirmedFor,
                AppendState.Done => now - one.DoneAt >= DoneFor,
                _ => false,
            };
            if (isOld)
                await appends.DeleteAsync(one, cancellationToken);
            if (one.State != AppendState.Confirmed)
                continue;
            late += now - one.CreatedAt >= LateAfter ? 1 : 0;
            if (one.MessageSentAt is { } sent && (now - sent < SendAgainAfter || now - sent < sent - one.CreatedAt))
                continue;
            await queues.SendAsync(new AppendMessage(one.Submitter, one.Id), TimeSpan.Zero, cancellationToken);
            await appends.UpdateAsync(one with { MessageSentAt = now }, cancellationToken);
        }
        if (late > 0)
            LogLate(late);
    }

    [LoggerMessage(
        EventIds.SweepAppendsLate, LogLevel.Error,
        "appended passwords: {Count} confirmed transactions not added after a day; see docs/operating.md")]
    private partial void LogLate(int count);
}
