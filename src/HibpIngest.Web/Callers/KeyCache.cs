using HibpIngest.Stores;
using Microsoft.Extensions.Caching.Memory;

namespace HibpIngest.Web;

/// <summary>
/// What is known of keys, wrong ones too, for a few seconds: a key is read once in that time however often it asks, and a
/// revoked one is refused that soon.
/// </summary>
internal sealed class KeyCache(IApiKeys keys) : IDisposable
{
    // Some 20 MB at the most.
    private const int Most = 100_000;

    private readonly MemoryCache _cache = new(new MemoryCacheOptions { SizeLimit = Most });

    /// <summary>Returns what is known without a read: false if nothing is; null if there is no such key.</summary>
    public bool TryGet(string hash, out Caller? caller) => _cache.TryGetValue(hash, out caller);

    public async Task<Caller?> ReadAsync(string hash, CancellationToken cancellationToken)
    {
        var caller = await keys.FindAsync(hash, cancellationToken) is { } key ? new Caller(key) : null;
        _cache.Set(hash, caller, new MemoryCacheEntryOptions { AbsoluteExpirationRelativeToNow = ApiKey.KnownFor, Size = 1 });
        return caller;
    }

    public void Dispose() => _cache.Dispose();
}
