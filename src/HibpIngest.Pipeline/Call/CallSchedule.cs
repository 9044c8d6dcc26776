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
    /// <param name="delay">How long its message stays hidden.</param>
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
        var paused = await ListPausedAsync(cancellationToken);
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

    /// <summary>Has the slices of a load looked through again that failed.</summary>
    public async Task RetryAsync(long load, CancellationToken cancellationToken)
    {
        await slices.RetryCallSlicesAsync(load, cancellationToken);
        await LookThroughAsync(load, cancellationToken);
    }

    /// <summary>
    /// Returns the loads with <see cref="CallProgress.Paused"/>. A load whose only open calls are to paused clients is over:
    /// resuming a client opens it again (<see cref="CallbackOperations.ResumeAsync"/>).
    /// </summary>
    public async Task<IReadOnlyList<Load>> WithPausedAsync(IReadOnlyList<Load> loads, CancellationToken cancellationToken)
    {
        if (!loads.Any(load => load.Calls is { Open: > 0 }))
            return loads;
        var paused = await ListPausedAsync(cancellationToken);
        if (paused.Count == 0)
            return loads;
        var waiting = (await callbacks.ListOpenCallsAsync(cancellationToken)).Where(open => paused.Contains(open.Client))
            .ToLookup(open => open.Load, open => open.Calls);
        return [.. loads.Select(load => load.Calls is { } calls && waiting.Contains(load.Id)
            ? load with { Calls = calls with { Paused = waiting[load.Id].Sum() } } : load)];
    }

    private async Task<HashSet<int>> ListPausedAsync(CancellationToken cancellationToken) =>
        (await clients.ListAsync(cancellationToken)).Where(client => client.IsPaused).Select(client => client.Number).ToHashSet();

    /// <summary>
    /// Deletes what a crash has left of a load whose calls have ended: each delivery's blob is deleted behind the record that it is done.
    /// </summary>
    public Task CleanAsync(Load load, CancellationToken cancellationToken) =>
        load.Calls is { IsLookedThrough: true, Calls: > 0, Open: 0, Dead: 0 }
            ? blobs.DeleteAsync(load.Id, cancellationToken) : Task.CompletedTask;

    /// <summary>Whether a load's slices are to be looked through, and no message for that was sent for so long.</summary>
    public static bool IsForsaken(Load load, DateTimeOffset now, TimeSpan lostAfter) =>
        load is { AwaitsCalls: true, Calls: { IsLookedThrough: false, IsFailed: false, MessagesAt: var sentAt } }
        && !(now - sentAt < lostAfter);
}
