namespace HibpIngest.Api.Lookup;

/// <summary>Keeps the catalogue in memory, revalidated every 3 seconds.</summary>
public sealed partial class CatalogueReader(ICatalogueBlobs blobs, TimeProvider time, ILogger<CatalogueReader> log)
    : RefreshingValue<CatalogueSnapshot>(RevalidateEvery, ReadTimeout, time)
{
    /// <summary>A hidden breach must be out of every response within 10 seconds: three intervals and the time of a read.</summary>
    public static readonly TimeSpan RevalidateEvery = TimeSpan.FromSeconds(3);

    // Together with the interval of 3 s, a hidden breach is still out within 10 s.
    private static readonly TimeSpan ReadTimeout = TimeSpan.FromSeconds(5);

    private CatalogueBlob? _ids;
    private CatalogueBlob? _breaches;

    protected override UnavailableException NotRead() => new("the catalogue of breaches has not been read yet");

    protected override void OnDown(string reason) => LogDown(reason);

    protected override void OnUp(CatalogueSnapshot value) => LogUp(value.Version);

    protected override async Task<CatalogueSnapshot> ReadAsync(CatalogueSnapshot? known, CancellationToken cancellationToken)
    {
        var ids = await ReadAsync(CatalogueDocuments.Ids, _ids, cancellationToken)
            ?? throw new UnavailableException("the catalogue of breaches is not published yet: run 'hibp catalogue publish'");
        // breaches.json is read after ids.json, which is written last: so breaches.json has the same version, or a newer one whose
        // ids.json follows. It may also change alone, for example if the links to logos change.
        var breaches = await RequireAsync(CatalogueDocuments.Breaches, _breaches, cancellationToken);
        if (known is not null && ReferenceEquals(ids, _ids) && ReferenceEquals(breaches, _breaches))
            return known;
        var latest = await RequireAsync(CatalogueDocuments.Latest, null, cancellationToken);
        var dataClasses = await RequireAsync(CatalogueDocuments.DataClasses, null, cancellationToken);
        try
        {
            var marks = JsonSerializer.Deserialize(ReadyContent.OfGzip(ids.Bytes).Identity.Span, CatalogueJson.Default.CatalogueIds)!;
            var snapshot = new CatalogueSnapshot(
                marks, ReadyContent.OfGzip(breaches.Bytes), ReadyContent.OfGzip(latest.Bytes), ReadyContent.OfGzip(dataClasses.Bytes));
            (_ids, _breaches) = (ids, breaches);
            LogRead(snapshot.Version, snapshot.ByTitle.Count);
            return snapshot;
        }
        catch (Exception)
        {
            throw new StoreMismatchException(
                "the catalogue can't be parsed: its blobs are damaged or written by another program. Republish it: hibp catalogue publish");
        }
    }

    /// <returns>The current blob; the same object as <paramref name="known"/> if it is unchanged.</returns>
    private async Task<CatalogueBlob?> ReadAsync(string name, CatalogueBlob? known, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, known?.ETag, cancellationToken) is not { } blob ? null : blob.IsUnchanged ? known : blob;

    private async Task<CatalogueBlob> RequireAsync(string name, CatalogueBlob? known, CancellationToken cancellationToken) =>
        await ReadAsync(name, known, cancellationToken)
        ?? throw new UnavailableException($"{name} is missing in the catalogue: run 'hibp catalogue publish' to write it again");

    [LoggerMessage(EventIds.CatalogueReaderRead, LogLevel.Information, "catalogue: version {Version} read ({Breaches} breaches)")]
    private partial void LogRead(long version, int breaches);

    [LoggerMessage(EventIds.CatalogueReaderDown, LogLevel.Warning, "catalogue: read failed, serving the last version read: {Reason}")]
    private partial void LogDown(string reason);

    [LoggerMessage(EventIds.CatalogueReaderUp, LogLevel.Warning, "catalogue: readable again (version {Version})")]
    private partial void LogUp(long version);
}
