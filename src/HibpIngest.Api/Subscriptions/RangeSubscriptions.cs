namespace HibpIngest.Api.Subscriptions;

/// <summary>
/// Changes the prefixes that clients watch. A client's single changes are batched: the first is written at once, those that arrive within a
/// second of it together, and so on; a bulk change is one write. Concurrent changes by other processes are detected by ETag.
/// </summary>
internal sealed class RangeSubscriptions(IPrefixBlobs blobs, TimeProvider time) : IDisposable
{
    /// <summary>Minimum time between two writes of a client's single changes.</summary>
    public static readonly TimeSpan GatherFor = TimeSpan.FromSeconds(1);

    // Maximum clients whose single changes are being written; each takes some 4 MB.
    private const int WritesAtOnce = 4;

    private readonly Lock _gate = new();
    private readonly SemaphoreSlim _writes = new(WritesAtOnce);
    private readonly Dictionary<int, List<Change>> _gathered = [];

    public async Task<PrefixBlob?> ReadAsync(int client, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(client, cancellationToken);

    /// <returns>True if the stored set has changed; completes when it is stored.</returns>
    public async Task<bool> SetAsync(int client, int prefix, bool isIn, CancellationToken cancellationToken)
    {
        var change = new Change(prefix, isIn);
        bool isFirst;
        lock (_gate)
        {
            isFirst = !_gathered.TryGetValue(client, out var changes);
            if (isFirst)
                _gathered.Add(client, changes = []);
            changes!.Add(change);
        }
        if (isFirst)
            _ = WriteGatheredAsync(client);
        return await change.Done.Task.WaitAsync(cancellationToken);
    }

    public async Task<(int Subscribed, int Unsubscribed, int Count)> SetManyAsync(
        int client, IReadOnlyList<int> subscribed, IReadOnlyList<int> unsubscribed, CancellationToken cancellationToken)
    {
        var (added, removed, count) = (0, 0, 0);
        await ChangeAsync(client, prefixes =>
        {
            var isIn = subscribed.Count(prefix => prefixes.Set(prefix, true));
            var isOut = unsubscribed.Count(prefix => prefixes.Set(prefix, false));
            // After a lost response, the next read finds the changes already made, so the maximum counts.
            (added, removed, count) = (Math.Max(added, isIn), Math.Max(removed, isOut), prefixes.Count);
            return isIn + isOut > 0;
        }, cancellationToken);
        return (added, removed, count);
    }

    /// <param name="version">The ETag that the stored set must have; null to accept any.</param>
    /// <returns>The new ETag; null if the stored set has another version.</returns>
    public async Task<string?> ReplaceAsync(int client, PrefixBitmap prefixes, string? version, CancellationToken cancellationToken)
    {
        if (version is not null)
            return await blobs.WriteAsync(client, prefixes, version, cancellationToken);
        while (true)
        {
            var there = await blobs.ReadAsync(client, cancellationToken);
            if (await blobs.WriteAsync(client, prefixes, there?.Version, cancellationToken) is { } written)
                return written;
        }
    }

    public void Dispose() => _writes.Dispose();

    /// <summary>Independent of the requests: a client that disconnects cancels nothing.</summary>
    private async Task WriteGatheredAsync(int client)
    {
        while (true)
        {
            List<Change> changes;
            lock (_gate)
            {
                changes = _gathered[client];
                if (changes.Count == 0)
                {
                    _gathered.Remove(client);
                    return;
                }
                _gathered[client] = [];
            }
            await WriteAsync(client, changes);
            await Task.Delay(GatherFor, time);
        }
    }

    private async Task WriteAsync(int client, List<Change> changes)
    {
        await _writes.WaitAsync();
        try
        {
            await ChangeAsync(client, prefixes =>
            {
                var isAny = false;
                foreach (var change in changes)
                {
                    // After a lost response, the next read finds the change already made: it still counts as new.
                    var isNew = prefixes.Set(change.Prefix, change.IsIn);
                    change.IsNew |= isNew;
                    isAny |= isNew;
                }
                return isAny;
            }, CancellationToken.None);
            foreach (var change in changes)
                change.Done.SetResult(change.IsNew);
        }
        catch (Exception e)
        {
            // Any failure: the requests wait for the result.
            foreach (var change in changes)
                change.Done.SetException(e);
        }
        finally
        {
            _writes.Release();
        }
    }

    /// <param name="change">Called again if another process has written in the meantime; false: there is nothing to write.</param>
    private async Task ChangeAsync(int client, Func<PrefixBitmap, bool> change, CancellationToken cancellationToken)
    {
        while (true)
        {
            var there = await blobs.ReadAsync(client, cancellationToken);
            var prefixes = there?.Prefixes ?? new PrefixBitmap();
            if (!change(prefixes) || await blobs.WriteAsync(client, prefixes, there?.Version, cancellationToken) is not null)
                return;
        }
    }

    private sealed class Change(int prefix, bool isIn)
    {
        public int Prefix => prefix;
        public bool IsIn => isIn;
        public bool IsNew { get; set; }
        public TaskCompletionSource<bool> Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
