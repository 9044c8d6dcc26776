using System.IO.Compression;

namespace HibpIngest.Testing;

/// <summary>Reads the catalogue directly from its blobs.</summary>
internal sealed class RawCatalogue(ICatalogueBlobs blobs)
{
    public async Task<IReadOnlyList<CatalogueEntry>> ListAsync(string prefix = "") =>
        await blobs.ListAsync(prefix, CancellationToken.None).ToListAsync();

    /// <returns>Null if it doesn't exist.</returns>
    public async Task<string?> ReadAsync(string name)
    {
        if (await blobs.ReadAsync(name, null, CancellationToken.None) is not { } blob)
            return null;
        await using var gzip = new GZipStream(new MemoryStream(blob.Bytes.ToArray()), CompressionMode.Decompress);
        using var text = new StreamReader(gzip);
        return await text.ReadToEndAsync();
    }

    public async Task<CatalogueIds> IdsAsync() =>
        JsonSerializer.Deserialize(await ReadAsync(CatalogueDocuments.Ids) ?? "null", CatalogueJson.Default.CatalogueIds)!;

    public async Task<IReadOnlyList<PublicBreach>> BreachesAsync() =>
        JsonSerializer.Deserialize(
            await ReadAsync(CatalogueDocuments.Breaches) ?? "null", CatalogueJson.Default.IReadOnlyListPublicBreach)!;

    /// <summary>Asserts that every document shows exactly these breaches.</summary>
    public async Task AssertShowsAsync(string where, params string[] names)
    {
        Assert.True(names.SequenceEqual((await IdsAsync()).Breaches.Select(breach => breach.Name)), $"{where}: ids.json");
        Assert.True(names.SequenceEqual((await BreachesAsync()).Select(breach => breach.Name).Order()), $"{where}: breaches.json");
        var alone = (await ListAsync(CatalogueDocuments.BreachFolder)).Select(entry => entry.Name);
        Assert.True(names.Select(CatalogueDocuments.Breach).Order(StringComparer.Ordinal).SequenceEqual(
            alone.Order(StringComparer.Ordinal)), $"{where}: {string.Join(", ", alone)}");
        foreach (var breach in await BreachesAsync())
        {
            var one = JsonSerializer.Serialize(breach, CatalogueJson.Default.PublicBreach);
            Assert.True(one == await ReadAsync(CatalogueDocuments.Breach(breach.Name)), $"{where}: {breach.Name}");
        }
    }
}
