using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Lookup;

/// <summary>
/// The catalogue in memory. Looks whether it has changed every few seconds, for as long as <see cref="RunAsync"/> runs;
/// while blobs are down, what was read last counts on.
/// </summary>
public sealed partial class CatalogueReader(ICatalogueBlobs blobs, TimeProvider time, ILogger<CatalogueReader> log)
{
    /// <summary>A hidden breach is out of every answer within 10 seconds: three of these, and a moment to read.</summary>
    public static readonly TimeSpan RevalidateEvery = TimeSpan.FromSeconds(3);

    // A store that is down may take minutes of tries to say so. With a look every three seconds it is still out in time.
    private static readonly TimeSpan ReadTimeout = TimeSpan.FromSeconds(5);

    private readonly SemaphoreSlim _reading = new(1, 1);
    private volatile CatalogueSnapshot? _snapshot;
    private CatalogueBlob? _ids;
    private CatalogueBlob? _breaches;
    private long _lookedAt;
    private bool _down;

    /// <summary>
    /// The catalogue as it was found last; read anew where nobody has looked for longer than a while, as in a process that
    /// was suspended.
    /// </summary>
    /// <exception cref="StoreUnavailableException">It could not be read yet, or was never published.</exception>
    public async ValueTask<CatalogueSnapshot> GetAsync(CancellationToken cancellationToken)
    {
        if (_snapshot is { } snapshot && time.GetElapsedTime(Volatile.Read(ref _lookedAt)) < RevalidateEvery * 2)
            return snapshot;
        await RefreshAsync(cancellationToken);
        return _snapshot ?? throw new StoreUnavailableException("the catalogue of breaches has not been read yet");
    }

    /// <summary>Revalidates until cancelled.</summary>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        using var timer = new PeriodicTimer(RevalidateEvery, time);
        try
        {
            do
            {
                try
                {
                    await RefreshAsync(cancellationToken);
                }
                catch (HibpException)
                {
                    // Logged; the next look may find it.
                }
            }
            while (await timer.WaitForNextTickAsync(cancellationToken));
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
        }
    }

    /// <summary>Reads what has changed. Where it fails, what was read last stays.</summary>
    /// <exception cref="HibpException">It failed, and nothing was read before.</exception>
    public async Task RefreshAsync(CancellationToken cancellationToken)
    {
        var before = Volatile.Read(ref _lookedAt);
        await _reading.WaitAsync(cancellationToken);
        try
        {
            if (_lookedAt != before)
                return; // somebody else has just looked
            await LookAsync(cancellationToken);
        }
        finally
        {
            _reading.Release();
        }
    }

    private async Task LookAsync(CancellationToken cancellationToken)
    {
        using var timeout = new CancellationTokenSource(_snapshot is null ? Timeout.InfiniteTimeSpan : ReadTimeout, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, timeout.Token);
        try
        {
            await ReadAsync(either.Token);
            if (_down)
                LogUp(_snapshot!.Version);
            _down = false;
        }
        catch (OperationCanceledException) when (timeout.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
        {
            NoteDown("the store doesn't answer");
        }
        catch (HibpException e)
        {
            NoteDown(e.Message);
            if (_snapshot is null)
                throw;
        }
        finally
        {
            // Who has left has found nothing out for the others.
            if (!cancellationToken.IsCancellationRequested)
                Volatile.Write(ref _lookedAt, time.GetTimestamp());
        }
    }

    private void NoteDown(string reason)
    {
        if (!_down)
            LogDown(reason);
        _down = true;
    }

    private async Task ReadAsync(CancellationToken cancellationToken)
    {
        var ids = await ReadAsync(CatalogueDocuments.Ids, _ids, cancellationToken)
            ?? throw new StoreUnavailableException("the catalogue of breaches is not published yet: 'hibp catalogue publish' does that");
        // Read behind ids.json, which is written last: of its version, or of a newer one whose ids.json comes next. It may also
        // change alone, as where links to logos lead.
        var breaches = await RequireAsync(CatalogueDocuments.Breaches, _breaches, cancellationToken);
        if (ReferenceEquals(ids, _ids) && ReferenceEquals(breaches, _breaches))
            return;
        var latest = await RequireAsync(CatalogueDocuments.Latest, null, cancellationToken);
        var dataClasses = await RequireAsync(CatalogueDocuments.DataClasses, null, cancellationToken);
        try
        {
            var marks = JsonSerializer.Deserialize(ReadyContent.OfGzip(ids.Bytes).Identity.Span, CatalogueJson.Default.CatalogueIds)!;
            _snapshot = new CatalogueSnapshot(
                marks, ReadyContent.OfGzip(breaches.Bytes), ReadyContent.OfGzip(latest.Bytes), ReadyContent.OfGzip(dataClasses.Bytes));
            (_ids, _breaches) = (ids, breaches);
            LogRead(_snapshot.Version, _snapshot.ByTitle.Count);
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
