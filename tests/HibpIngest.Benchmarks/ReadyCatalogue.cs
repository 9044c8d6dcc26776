using System.IO.Compression;

namespace HibpIngest.Benchmarks;

/// <summary>A catalogue in memory whose breaches have one mark each.</summary>
internal sealed class ReadyCatalogue : ICatalogueBlobs
{
    private readonly Dictionary<string, byte[]> _blobs = [];

    /// <param name="breaches">Number of breaches.</param>
    /// <param name="sentences">Length of each description, in sentences of about 50 bytes.</param>
    public ReadyCatalogue(int breaches, int sentences = 8)
    {
        var models = Enumerable.Range(1, breaches).Select(i => new PublicBreach
        {
            Name = $"Breach{i}",
            Title = $"Breach {i:D4}",
            Domain = $"site{i}.example",
            BreachDate = new DateOnly(2020, 1, 1).AddDays(i),
            PwnCount = i * 1_000L,
            Description = string.Concat(Enumerable.Repeat($"In the year of breach {i} this site lost what it knew. ", sentences)),
            LogoPath = $"https://api.example/logos/Breach{i}.png",
            DataClasses = ["Email addresses", "Names", "Passwords"],
            IsVerified = true,
        }).ToList();
        Add(CatalogueDocuments.Breaches, JsonSerializer.SerializeToUtf8Bytes(models, CatalogueJson.Default.IReadOnlyListPublicBreach));
        Add(CatalogueDocuments.Latest, JsonSerializer.SerializeToUtf8Bytes(models[^1], CatalogueJson.Default.PublicBreach));
        Add(CatalogueDocuments.DataClasses, """["Email addresses","Names","Passwords"]"""u8);
        var ids = new CatalogueIds(1, [.. models.Select((model, i) => new CatalogueMarks(model.Name, BreachFlags.Verified, [i + 1]))]);
        Add(CatalogueDocuments.Ids, JsonSerializer.SerializeToUtf8Bytes(
            ids with { Breaches = [.. ids.Breaches.Take(IAccountTable.MarksPerRow)] }, CatalogueJson.Default.CatalogueIds));
    }

    public byte[] Bytes(string name) => _blobs[name];

    /// <summary>Returns a document uncompressed.</summary>
    public byte[] Json(string name)
    {
        using var gzip = new GZipStream(new MemoryStream(_blobs[name]), CompressionMode.Decompress);
        using var json = new MemoryStream();
        gzip.CopyTo(json);
        return json.ToArray();
    }

    public Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken) =>
        Task.FromResult<CatalogueBlob?>(new CatalogueBlob("1", 1, _blobs[name], IsUnchanged: knownETag is not null));

    public Task CreateAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

    public Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) => throw new NotSupportedException();

    private void Add(string name, ReadOnlySpan<byte> json)
    {
        using var bytes = new MemoryStream();
        using (var gzip = new GZipStream(bytes, CompressionLevel.Optimal))
            gzip.Write(json);
        _blobs[name] = bytes.ToArray();
    }
}
