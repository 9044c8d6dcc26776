using System.Collections.Concurrent;
using HibpIngest.Clients;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What clients watch, in memory, for slices that come one behind the other. Safe for use by many at once.</summary>
public sealed class WatchedPrefixes(IPrefixBlobs blobs, TimeProvider time)
{
    /// <summary>A change counts for slices that are looked through so long after it, at the latest.</summary>
    public static readonly TimeSpan SeenWithin = TimeSpan.FromSeconds(15);

    // 2 MB each. What more clients watch is read for every slice.
    private const int KeptAtMost = 64;

    private readonly ConcurrentDictionary<int, Entry> _kept = [];
    private readonly SemaphoreSlim _reading = new(1, 1);

    /// <summary>What a client watches; null: nothing yet.</summary>
    public async Task<PrefixBitmap?> GetAsync(int client, CancellationToken cancellationToken)
    {
        if (FindFresh(client) is { } fresh)
            return fresh.Blob?.Prefixes;
        // One at a time: slices that are begun together want the same ones.
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

    /// <summary>Those of clients that nobody asks for any more.</summary>
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
