using HibpIngest.Messages;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Passwords;

/// <summary>
/// Looks after transactions: those that were confirmed, and not added in time, get a message again; those that nobody confirmed, and
/// those that have ended a while ago, go.
/// </summary>
/// <param name="log">Counts only.</param>
public sealed partial class SweepAppends(IPasswordAppends appends, IMessageQueues queues, TimeProvider time, ILogger<SweepAppends> log)
{
    /// <summary>How long a transaction waits to be confirmed, as Have I Been Pwned says it does.</summary>
    public static readonly TimeSpan UnconfirmedFor = TimeSpan.FromHours(24);

    /// <summary>How long after the last message there is another, or as long as it has taken until then.</summary>
    public static readonly TimeSpan SendAgainAfter = TimeSpan.FromMinutes(10);

    // Who confirms once more is told that it is; and no message is on its way any more.
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
                AppendState.Sent => now - one.CreatedAt >= UnconfirmedFor,
                AppendState.Done => now - one.DoneAt >= DoneFor,
                _ => false,
            };
            if (isOld)
                await appends.DeleteAsync(one, cancellationToken);
            if (one.State != AppendState.Confirmed)
                continue;
            late += now - one.CreatedAt >= LateAfter ? 1 : 0;
            if (one.SentAt is { } sent && now - sent < Longer(SendAgainAfter, sent - one.CreatedAt))
                continue;
            await queues.SendAsync(new AppendMessage(one.Subscription, one.Id), TimeSpan.Zero, cancellationToken);
            await appends.UpdateAsync(one with { SentAt = now }, cancellationToken);
        }
        if (late > 0)
            LogLate(late);
    }

    private static TimeSpan Longer(TimeSpan one, TimeSpan other) => one > other ? one : other;

    [LoggerMessage(
        EventIds.SweepAppendsLate, LogLevel.Error,
        "{Count} transactions of appended passwords were confirmed, and are not added after a day: docs/operating.md says why that may be")]
    private partial void LogLate(int count);
}
