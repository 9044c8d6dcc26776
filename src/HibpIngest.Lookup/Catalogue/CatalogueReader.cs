using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Lookup;

/// <summary>The catalogue in memory, revalidated every few seconds.</summary>
public sealed partial class CatalogueReader(ICatalogueBlobs blobs, TimeProvider time, ILogger<CatalogueReader> log)
    : Revalidated<CatalogueSnapshot>(RevalidateEvery, ReadTimeout, time)
{
    /// <summary>A hidden breach is out of every answer within 10 seconds: three of these, and a moment to read.</summary>
    public static readonly TimeSpan RevalidateEvery = TimeSpan.FromSeconds(3);

    // With a look every three seconds a hidden breach is still out in time.
    private static readonly TimeSpan ReadTimeout = TimeSpan.FromSeconds(5);

    private CatalogueBlob? _ids;
    private CatalogueBlob? _breaches;

    protected override StoreUnavailableException NotRead() => new("the catalogue of breaches has not been read yet");

    protected override void OnDown(string reason) => LogDown(reason);

    protected override void OnUp(CatalogueSnapshot value) => LogUp(value.Version);

    protected override async Task<CatalogueSnapshot> ReadAsync(CatalogueSnapshot? known, CancellationToken cancellationToken)
    {
        var ids = await ReadAsync(CatalogueDocuments.Ids, _ids, cancellationToken)
            ?? throw new StoreUnavailableException("the catalogue of breaches is not published yet: 'hibp catalogue publish' does that");
        // Read behind ids.json, which is written last: of its version, or of a newer one whose ids.json comes next. It may also
        // change alone, as where links to logos lead.
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
            throw new StoreMismatchException("the catalogue of breaches can't be read: its container was written by something else");
        }
    }

    /// <summary>The blob as it is; the very one that is known where it is that still.</summary>
    private async Task<CatalogueBlob?> ReadAsync(string name, CatalogueBlob? known, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, known?.ETag, cancellationToken) is not { } blob ? null : blob.IsUnchanged ? known : blob;

    private async Task<CatalogueBlob> RequireAsync(string name, CatalogueBlob? known, CancellationToken cancellationToken) =>
        await ReadAsync(name, known, cancellationToken)
        ?? throw new StoreUnavailableException($"{name} is missing in the catalogue: 'hibp catalogue publish' writes it anew");

    [LoggerMessage(
        EventIds.CatalogueReaderRead, LogLevel.Information, "the catalogue of breaches, version {Version}: {Breaches} breaches")]
    private partial void LogRead(long version, int breaches);

    [LoggerMessage(
        EventIds.CatalogueReaderDown, LogLevel.Warning, "the catalogue of breaches can't be read, what was read last counts: {Reason}")]
    private partial void LogDown(string reason);

    [LoggerMessage(EventIds.CatalogueReaderUp, LogLevel.Warning, "the catalogue of breaches is read again, version {Version}")]
    private partial void LogUp(long version);
}
