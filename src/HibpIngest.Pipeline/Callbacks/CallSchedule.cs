namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Sends the messages for searching a load's slices for the clients' prefixes, and for calling the clients.</summary>
public sealed class CallSchedule(
    ICallbacks callbacks, ICallbackClients clients, ICallbackBlobs blobs, PipelineMessages messages)
{
    // These messages are sent without a delay and received within seconds.
    private static readonly TimeSpan MessageIsLostAfter = TimeSpan.FromMinutes(2);

    public async Task<bool> HasClientsAsync(CancellationToken cancellationToken) => (await clients.ListAsync(cancellationToken)).Count > 0;

    /// <summary>Sends a message for each of a load's slices that were not searched yet. Returns whether there are any.</summary>
    public async Task<bool> LookThroughAsync(LoadId load, CancellationToken cancellationToken)
    {
        if (await callbacks.ListCallSlicesAsync(load, cancellationToken) is not { Count: > 0 } left)
            return false;
        var sending = Parallelism.Of(PipelineMessages.MaxConcurrency, cancellationToken);
        await Parallel.ForEachAsync(left, sending, async (one, token) => await messages.SendAsync(
            new CallbackSliceMessage { Load = one.Load.Value, Slice = one.Number, First = one.First, Last = one.Last },
            TimeSpan.Zero, token));
        await callbacks.MarkCallMessagesSentAsync(load, cancellationToken);
        return true;
    }

    public Task CallAsync(int client, TimeSpan delay, CancellationToken cancellationToken) =>
        messages.SendAsync(new CallbackMessage { Client = client }, delay, cancellationToken);

    /// <summary>Sends the clients' lost messages again, and reports how long calls have been waiting. Returns the number sent.</summary>
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

    public async Task RetryAsync(LoadId load, CancellationToken cancellationToken)
    {
        await callbacks.RetryCallSlicesAsync(load, cancellationToken);
        await LookThroughAsync(load, cancellationToken);
    }

    /// <summary>Sets <see cref="CallProgress.Paused"/>. A load whose open calls are all to paused clients doesn't wait for them.</summary>
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

    /// <summary>Deletes the blobs that a crash left of a load whose calls have ended.</summary>
    public Task CleanAsync(Load load, CancellationToken cancellationToken) =>
        load.Calls is { IsSearched: true, Calls: > 0, Open: 0, Abandoned: 0 }
            ? blobs.DeleteAsync(load.Id, cancellationToken) : Task.CompletedTask;

    /// <summary>True if a load has slices to look through, but no message for them was sent within <paramref name="lostAfter"/>.</summary>
    public static bool IsStalled(Load load, DateTimeOffset now, TimeSpan lostAfter) =>
        load is { AwaitsCalls: true, Calls: { IsSearched: false, IsFailed: false, MessagesAt: var sentAt } }
        && !(now - sentAt < lostAfter);
}
