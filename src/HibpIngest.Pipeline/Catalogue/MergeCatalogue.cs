using System.IO.Compression;

namespace HibpIngest.Pipeline.Catalogue;

/// <summary>
/// Merges the catalogue that readers have into a restored, and therefore older, database: breaches that were hidden, or became sensitive
/// or retired, since the backup stay so. Must run before anything overwrites the catalogue.
/// </summary>
public sealed class MergeCatalogue(ICatalogue catalogue, ICatalogueBlobs blobs)
{
    /// <summary>A merge never clears these flags.</summary>
    private const BreachFlags Restricting = BreachFlags.Sensitive | BreachFlags.Retired;

    public async Task<bool> IsNewerAsync(CancellationToken cancellationToken) =>
        await FindVersionAsync(cancellationToken) > (await catalogue.ReadCatalogueAsync(cancellationToken)).Version;

    /// <summary>Reads the catalogue from before the restore, and keeps a copy, so that repeating the restore merges the same one.</summary>
    /// <returns>Null if the catalogue isn't newer than the database.</returns>
    public async Task<ReadersCatalogue?> KeepAsync(CancellationToken cancellationToken)
    {
        await blobs.CreateAsync(cancellationToken);
        if (await blobs.ReadAsync(CatalogueDocuments.BeforeRestore, null, cancellationToken) is { } copy)
            return new ReadersCatalogue(copy.Version, Parse(copy.Bytes));
        var newest = await FindVersionAsync(cancellationToken);
        if (newest <= (await catalogue.ReadCatalogueAsync(cancellationToken)).Version)
            return null;
        var shown = await blobs.ReadAsync(CatalogueDocuments.Breaches, null, cancellationToken);
        var bytes = shown?.Bytes ?? ReadOnlyMemory<byte>.Empty;
        await blobs.WriteAsync(
            CatalogueDocuments.BeforeRestore, newest,
            new CatalogueContent(bytes, PublishCatalogue.Json, IsGzip: true, $"{newest}"), cancellationToken);
        return new ReadersCatalogue(newest, Parse(bytes));
    }

    public async Task ForgetAsync(CancellationToken cancellationToken)
    {
        await foreach (var copy in blobs.ListAsync(CatalogueDocuments.BeforeRestore, cancellationToken))
            await blobs.DeleteAsync(copy.Name, copy.ETag, cancellationToken);
    }

    public async Task<IReadOnlyList<string>> RunAsync(long newest, CancellationToken cancellationToken)
    {
        var shown = await blobs.ReadAsync(CatalogueDocuments.Breaches, null, cancellationToken);
        return await RunAsync(new ReadersCatalogue(newest, Parse(shown?.Bytes ?? ReadOnlyMemory<byte>.Empty)), cancellationToken);
    }

    /// <summary>
    /// Hides each breach that the database would list and the catalogue doesn't, sets sensitive and retired if either has them, and takes
    /// all other metadata from the catalogue. Breaches for which the journal has a newer version are left unchanged. Idempotent.
    /// </summary>
    /// <returns>The breaches that were hidden.</returns>
    public async Task<IReadOnlyList<string>> RunAsync(ReadersCatalogue readers, CancellationToken cancellationToken)
    {
        while (true)
        {
            var snapshot = await catalogue.ReadCatalogueAsync(cancellationToken);
            var changes = snapshot.Breaches.Where(breach => breach.JournalVersion <= readers.Version)
                .Select(breach => (Before: breach, After: Merge(breach, readers.Breaches)))
                .Where(change => change.After is not null).ToList();
            var merged = await catalogue.MergeBreachesAsync(
                snapshot.Version, [.. changes.Select(change => change.After!)], readers.Version + 1, cancellationToken);
            if (merged)
            {
                return [.. changes.Where(change => change.After!.Hidden && !change.Before.Breach.Hidden)
                    .Select(change => change.Before.Breach.Name)];
            }
        }
    }

    private static BreachMerge? Merge(CatalogueBreach breach, IReadOnlyDictionary<string, PublicBreach> shown)
    {
        var (name, before) = (breach.Breach.Name, breach.Breach.Metadata);
        if (!shown.TryGetValue(name, out var published))
            return breach.IsListed ? new BreachMerge(name, before, Hidden: true, breach.ModifiedAt) : null;
        // Compared in the published form: if that is the same, the database's original is kept.
        var own = PublishCatalogue.Reduce(breach.Breach);
        var after = before with
        {
            Title = own.Title == published.Title ? before.Title : published.Title,
            Domain = own.Domain == published.Domain ? before.Domain : Known(published.Domain),
            BreachDate = published.BreachDate,
            Description = own.Description == published.Description ? before.Description : Known(published.Description),
            Attribution = published.Attribution,
            DisclosureUrl = published.DisclosureUrl,
            DataClasses = own.DataClasses.SequenceEqual(published.DataClasses) ? before.DataClasses : published.DataClasses,
            Flags = published.GetFlags() | (before.Flags & Restricting),
        };
        return after.ToJson().AsSpan().SequenceEqual(before.ToJson())
            ? null : new BreachMerge(name, after, breach.Breach.Hidden, published.ModifiedDate);
    }

    private static string? Known(string text) => text.Length > 0 ? text : null;

    private async Task<long> FindVersionAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await blobs.ListAsync("", cancellationToken).Select(entry => entry.Version).DefaultIfEmpty()
                .MaxAsync(cancellationToken: cancellationToken);
        }
        catch (StoreMissingException)
        {
            return 0; // without a container there is no catalogue
        }
    }

    /// <summary>A missing or unreadable list reads as empty: breaches that aren't known to have been shown are hidden.</summary>
    private static Dictionary<string, PublicBreach> Parse(ReadOnlyMemory<byte> bytes)
    {
        try
        {
            using var gzip = new GZipStream(new MemoryStream(bytes.ToArray()), CompressionMode.Decompress);
            var shown = JsonSerializer.Deserialize(gzip, CatalogueJson.Default.IReadOnlyListPublicBreach) ?? [];
            return shown.ToDictionary(breach => breach.Name, StringComparer.OrdinalIgnoreCase);
        }
        catch (Exception e) when (e is JsonException or InvalidDataException or ArgumentException)
        {
            return [];
        }
    }
}

public sealed record ReadersCatalogue(long Version, IReadOnlyDictionary<string, PublicBreach> Breaches);
