using System.IO.Compression;
using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Tests.Lookup;

/// <summary>The catalogue's container in memory; counts who reads ids.json, and can be down, or slow.</summary>
internal sealed class MemoryCatalogue : ICatalogueBlobs
{
    private readonly Dictionary<string, (byte[] Bytes, int Writes)> _blobs = [];
    private int _writes;
    private int _version;
    private int _reads;

    /// <summary>How often ids.json was asked for.</summary>
    public int Reads => Volatile.Read(ref _reads);

    /// <summary>Nothing can be read.</summary>
    public bool IsDown { get; set; }

    /// <summary>What a read waits for.</summary>
    public Task Gate { get; set; } = Task.CompletedTask;

    /// <summary>Told of each read that has begun.</summary>
    public Action? OnRead { get; set; }

    /// <summary>Writes what is shown, and which marks count; the two may differ, as while a change is being published.</summary>
    public void Publish(IEnumerable<PublicBreach> shown, IEnumerable<CatalogueMarks> marks)
    {
        var breaches = shown.ToList();
        _version++;
        Write(CatalogueDocuments.Breaches, JsonSerializer.SerializeToUtf8Bytes(breaches, CatalogueJson.Default.IReadOnlyListPublicBreach));
        Write(CatalogueDocuments.Latest, "null"u8.ToArray());
        Write(CatalogueDocuments.DataClasses, "[]"u8.ToArray());
        Write(CatalogueDocuments.Ids, JsonSerializer.SerializeToUtf8Bytes(
            new CatalogueIds(_version, [.. marks]), CatalogueJson.Default.CatalogueIds));
    }

    /// <summary>Writes what is shown alone, as where links to logos lead elsewhere: marks and version stay.</summary>
    public void Retell(IReadOnlyList<PublicBreach> shown) =>
        Write(CatalogueDocuments.Breaches, JsonSerializer.SerializeToUtf8Bytes(shown, CatalogueJson.Default.IReadOnlyListPublicBreach));

    /// <summary>Breaches with one mark each: the first has 1.</summary>
    public void Publish(params string[] names) =>
        Publish(names.Select(Breach), names.Select((name, i) => new CatalogueMarks(name, BreachFlags.None, [i + 1])));

    public static PublicBreach Breach(string name) => new() { Name = name, Title = $"The {name} breach" };

    public async Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken)
    {
        if (name == CatalogueDocuments.Ids)
        {
            Interlocked.Increment(ref _reads);
            OnRead?.Invoke();
            await Gate.WaitAsync(cancellationToken);
        }
        if (IsDown)
            throw new StoreUnavailableException("blobs are down");
        if (!_blobs.TryGetValue(name, out var blob))
            return null;
        var (bytes, etag) = (blob.Bytes, $"\"{blob.Writes}\"");
        return knownETag == etag ? new CatalogueBlob(etag, _version, default, IsUnchanged: true)
            : new CatalogueBlob(etag, _version, bytes, IsUnchanged: false);
    }

    public Task CreateAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

    public Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) => throw new NotSupportedException();

    private void Write(string name, byte[] json)
    {
        using var bytes = new MemoryStream();
        using (var gzip = new GZipStream(bytes, CompressionLevel.Fastest))
            gzip.Write(json);
        _blobs[name] = (bytes.ToArray(), ++_writes);
    }
}
