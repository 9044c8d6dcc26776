using System.Collections.Concurrent;

namespace HibpIngest.Api.Lookup;

/// <summary>Reads logos of the catalogue; caches them for 5 minutes.</summary>
public sealed class LogoReader(ICatalogueBlobs blobs, TimeProvider time)
{
    /// <summary>Maximum size of a logo, in bytes; a larger one is never published.</summary>
    public const int MaxBytes = 512 * 1024;

    // Limit of the cache: 64 MiB, enough for a thousand logos of usual size.
    private const long MaxCachedBytes = 64L << 20;

    private static readonly TimeSpan CachedFor = TimeSpan.FromMinutes(5);

    private readonly ConcurrentDictionary<string, (ReadyContent? Logo, long At)> _known = new(StringComparer.Ordinal);
    private long _bytes;

    /// <returns>A breach's logo; null if it has none.</returns>
    public async ValueTask<ReadyContent?> FindAsync(string name, CancellationToken cancellationToken)
    {
        if (_known.TryGetValue(name, out var known) && time.GetElapsedTime(known.At) < CachedFor)
            return known.Logo;
        var blob = await blobs.ReadAsync(CatalogueDocuments.Logo(name), null, cancellationToken);
        var logo = blob is null ? null : ReadyContent.OfImage(blob.Bytes);
        if (Interlocked.Add(ref _bytes, logo?.Identity.Length ?? 0) > MaxCachedBytes)
        {
            _known.Clear();
            Interlocked.Exchange(ref _bytes, logo?.Identity.Length ?? 0);
        }
        _known[name] = (logo, time.GetTimestamp());
        return logo;
    }
}
