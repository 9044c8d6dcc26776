using HibpIngest.Breaches;
using HibpIngest.Stores;
using HibpIngest.Telemetry;

namespace HibpIngest.Pipeline;

/// <summary>Sends the messages by which clients are called. What a crash keeps from being sent, Sweep sends.</summary>
public sealed class CallSchedule(
    ICallSlices slices, ICallbacks callbacks, ICallbackClients clients, ICallbackBlobs blobs, PipelineMessages messages)
{
    // Sent at once, and seen within seconds.
    private static readonly TimeSpan MessageIsLostAfter = TimeSpan.FromMinutes(2);

    /// <summary>Whether there is anybody to be called.</summary>
    public async Task<bool> HasClientsAsync(CancellationToken cancellationToken) =>
        (await clients.ListAsync(cancellationToken)).Count > 0;

    /// <summary>
    /// Has the slices of a load looked through that weren't yet, where it sends; may be run at any time, beside itself. Returns whether
    /// there are any.
    /// </summary>
    public async Task<bool> LookThroughAsync(long load, CancellationToken cancellationToken)
    {
        if (await slices.ListCallSlicesAsync(load, cancellationToken) is not { Count: > 0 } left)
            return false;
        var sending = new ParallelOptions { MaxDegreeOfParallelism = PipelineMessages.AtOnce, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(left, sending, async (slice, token) => await messages.SendAsync(
            new CallMessage { Load = slice.Load, Slice = slice.Number, First = slice.First, Last = slice.Last }, TimeSpan.Zero, token));
        await slices.MarkCallMessagesSentAsync(load, cancellationToken);
        return true;
    }

    /// <summary>Has a client called.</summary>
    /// <param name="client">Its number.</param>
    /// <param name="delay">How long its message stays hidden.</param>
    /// <param name="cancellationToken">Of the call.</param>
    public Task CallAsync(int client, TimeSpan delay, CancellationToken cancellationToken) =>
        messages.SendAsync(new CallbackMessage { Client = client }, delay, cancellationToken);

    /// <summary>
    /// Sends the messages of clients again that were lost, and tells how long calls have been waiting. Returns how many it sent.
    /// </summary>
    public async Task<int> SweepAsync(CancellationToken cancellationToken)
    {
        var health = await callbacks.ListCallbackHealthAsync(MessageIsLostAfter, cancellationToken);
        if (health.Count == 0)
            return 0;
        var paused = (await clients.ListAsync(cancellationToken))
            .Where(client => client.IsPaused).Select(client => client.Number).ToHashSet();
        var sent = 0;
        foreach (var one in health)
        {
            var waits = paused.Contains(one.Client) ? null : one.OldestFor;
            HibpTelemetry.CallbackSeen(one.Client, waits ?? TimeSpan.Zero);
            if (!one.IsDue || paused.Contains(one.Client))
                continue;
            await CallAsync(one.Client, TimeSpan.Zero, cancellationToken);
            await callbacks.MarkCallbackMessageSentAsync(one.Client, cancellationToken);
            sent++;
        }
        return sent;
    }

    /// <summary>
    /// Deletes what a crash has left of a load whose calls have ended: each delivery's blob is deleted behind the record that it is done.
    /// </summary>
    public Task CleanAsync(Load load, CancellationToken cancellationToken) =>
        load.Calls is { IsLookedThrough: true, Calls: > 0, Open: 0, Dead: 0 }
            ? blobs.DeleteAsync(load.Id, cancellationToken) : Task.CompletedTask;

    /// <summary>Whether a load's slices are to be looked through, and no message for that was sent for so long.</summary>
    public static bool IsForsaken(Load load, DateTimeOffset now, TimeSpan lostAfter) =>
        load is { AwaitsCalls: true, Calls: { IsLookedThrough: false, MessagesAt: var sentAt } } && !(now - sentAt < lostAfter);
}
