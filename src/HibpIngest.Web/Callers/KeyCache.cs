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

    /// <summary>What is known without a read. False: nothing; null: that there is no such key.</summary>
    public bool TryGet(string hash, out ApiKey? key) => _cache.TryGetValue(hash, out key);

    /// <summary>Reads a key, and keeps what it finds.</summary>
    public async Task<ApiKey?> ReadAsync(string hash, CancellationToken cancellationToken)
    {
        var key = await keys.FindAsync(hash, cancellationToken);
        _cache.Set(hash, key, new MemoryCacheEntryOptions { AbsoluteExpirationRelativeToNow = ApiKey.KnownFor, Size = 1 });
        return key;
    }

    public void Dispose() => _cache.Dispose();
}
