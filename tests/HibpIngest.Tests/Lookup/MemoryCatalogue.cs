using System.IO.Compression;

namespace HibpIngest.Tests.Lookup;

/// <summary>The catalogue's container in memory; counts reads of ids.json, and can be unavailable or slow.</summary>
internal sealed class MemoryCatalogue : ICatalogueBlobs
{
    private readonly Dictionary<string, (byte[] Bytes, int Writes)> _blobs = [];
    private int _writes;
    private int _version;
    private int _reads;

    public int Reads => Volatile.Read(ref _reads);

    public bool IsDown { get; set; }

    /// <summary>Every read waits for this task.</summary>
    public Task Gate { get; set; } = Task.CompletedTask;

    public Action? OnRead { get; set; }

    /// <summary>Writes the visible breaches and the current marks; the two may differ, as while a change is being published.</summary>
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

    /// <summary>Rewrites only the visible breaches, as when logo links change: marks and version stay.</summary>
    public void RewriteBreaches(IReadOnlyList<PublicBreach> shown) =>
        Write(CatalogueDocuments.Breaches, JsonSerializer.SerializeToUtf8Bytes(shown, CatalogueJson.Default.IReadOnlyListPublicBreach));

    /// <summary>Publishes breaches with one mark each, numbered from 1.</summary>
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
            throw new UnavailableException("blobs are down");
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
