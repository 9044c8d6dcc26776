using System.Collections.Concurrent;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Caches the prefixes that clients watch, for consecutive slices. Thread-safe.</summary>
public sealed class WatchedPrefixes(IPrefixBlobs blobs, TimeProvider time)
{
    /// <summary>A change takes effect at most this long after it was made, for slices looked through from then on.</summary>
    public static readonly TimeSpan SeenWithin = TimeSpan.FromSeconds(15);

    // 2 MB each. The bitmaps of further clients are read again for every slice.
    private const int MaxCached = 64;

    private readonly ConcurrentDictionary<int, Entry> _cached = [];
    private readonly SemaphoreSlim _reading = new(1, 1);

    /// <returns>Null if it watches none yet.</returns>
    public async Task<PrefixBitmap?> GetAsync(int client, CancellationToken cancellationToken)
    {
        if (FindFresh(client) is { } fresh)
            return fresh.Blob?.Prefixes;
        // One read at a time: slices that start together need the same bitmaps.
        await _reading.WaitAsync(cancellationToken);
        try
        {
            if (FindFresh(client) is { } read)
                return read.Blob?.Prefixes;
            var readAt = time.GetTimestamp();
            var blob = await blobs.ReadAsync(client, cancellationToken, _cached.GetValueOrDefault(client)?.Blob);
            if (_cached.Count >= MaxCached && !_cached.ContainsKey(client))
                RemoveStale();
            if (_cached.Count < MaxCached || _cached.ContainsKey(client))
                _cached[client] = new Entry(blob, readAt);
            return blob?.Prefixes;
        }
        finally
        {
            _reading.Release();
        }
    }

    private Entry? FindFresh(int client) =>
        _cached.TryGetValue(client, out var entry) && time.GetElapsedTime(entry.ReadAt) < SeenWithin ? entry : null;

    private void RemoveStale()
    {
        foreach (var (client, _) in _cached.Where(cached => time.GetElapsedTime(cached.Value.ReadAt) >= SeenWithin))
            _cached.TryRemove(client, out _);
    }

    private sealed record Entry(PrefixBlob? Blob, long ReadAt);
}
