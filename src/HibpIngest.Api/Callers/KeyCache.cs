using Microsoft.Extensions.Caching.Memory;

namespace HibpIngest.Api.Callers;

/// <summary>
/// Caches keys for a few seconds, including wrong ones: each key is read at most once in that time, and a revoked key is refused within it.
/// </summary>
internal sealed class KeyCache(IApiKeys keys) : IDisposable
{
    // At most about 20 MB.
    private const int MaxKeys = 100_000;

    private readonly MemoryCache _cache = new(new MemoryCacheOptions { SizeLimit = MaxKeys });

    /// <summary>Returns false if the key is not cached; the caller is null if the key doesn't exist.</summary>
    public bool TryGet(string hash, out Caller? caller) => _cache.TryGetValue(hash, out caller);

    public async Task<Caller?> ReadAsync(string hash, CancellationToken cancellationToken)
    {
        var caller = await keys.FindAsync(hash, cancellationToken) is { } key ? new Caller(key) : null;
        _cache.Set(hash, caller, new MemoryCacheEntryOptions { AbsoluteExpirationRelativeToNow = ApiKey.KnownFor, Size = 1 });
        return caller;
    }

    public void Dispose() => _cache.Dispose();
}
