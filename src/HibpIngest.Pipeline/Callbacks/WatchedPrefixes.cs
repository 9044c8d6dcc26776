using System.Collections.Concurrent;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Caches the prefixes that clients watch, for consecutive slices. Thread-safe.</summary>
public sealed class WatchedPrefixes(IPrefixBlobs blobs, TimeProvider time)
{
    /// <summary>A change takes effect at most this long after it was made, for slices looked through from then on.</summary>
    public static readonly TimeSpan SeenWithin = TimeSpan.FromSeconds(15);

    // 2 MB each. The bitmaps of further clients are read again for every slice.
    private const int KeptAtMost = 64;

    private readonly ConcurrentDictionary<int, Entry> _kept = [];
    private readonly SemaphoreSlim _reading = new(1, 1);

    /// <summary>Returns the prefixes that a client watches.</summary>
    /// <returns>Null: it watches none yet.</returns>
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
            var blob = await blobs.ReadAsync(client, cancellationToken, _kept.GetValueOrDefault(client)?.Blob);
            if (_kept.Count >= KeptAtMost && !_kept.ContainsKey(client))
                RemoveStale();
            if (_kept.Count < KeptAtMost || _kept.ContainsKey(client))
                _kept[client] = new Entry(blob, readAt);
            return blob?.Prefixes;
        }
        finally
        {
            _reading.Release();
        }
    }

    private Entry? FindFresh(int client) =>
        _kept.TryGetValue(client, out var entry) && time.GetElapsedTime(entry.ReadAt) < SeenWithin ? entry : null;

    private void RemoveStale()
    {
        foreach (var (client, entry) in _kept)
        {
            if (time.GetElapsedTime(entry.ReadAt) >= SeenWithin)
                _kept.TryRemove(client, out _);
        }
    }

    private sealed record Entry(PrefixBlob? Blob, long ReadAt);
}
