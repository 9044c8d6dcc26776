using HibpIngest.Passwords.Appends;

namespace HibpIngest.Passwords.Serving;

/// <summary>Follows which release is served, by reading <see cref="PasswordNames.Current"/> every few seconds.</summary>
internal sealed partial class ServedReader(PasswordStores stores, PasswordBackend? pin, bool isReplica, TimeProvider time, ILogger log)
    : RefreshingValue<ServedRanges>(RevalidateEvery, ReadTimeout, time)
{
    // The interval is the catalogue's: a switch is visible within 10 seconds.
    public static readonly TimeSpan RevalidateEvery = TimeSpan.FromSeconds(3);

    // Two indexes are 16 MB.
    private static readonly TimeSpan ReadTimeout = TimeSpan.FromMinutes(1);

    // A switch is rare, so that a value of this age is still used while it is refreshed.
    protected override TimeSpan StaleAfter => TimeSpan.FromMinutes(10);

    protected override async Task<ServedRanges> ReadAsync(ServedRanges? known, CancellationToken cancellationToken)
    {
        var blob = await stores.Blobs.ReadAsync(PasswordNames.Current, known?.ETag, cancellationToken);
        if (known is not null && (blob?.IsUnchanged == true || (blob is null && known.ETag is null)))
        {
            if (known.Changes is not null)
                await known.Changes.RefreshAsync(cancellationToken);
            return known;
        }
        var current = blob is null ? null : ReleaseReader.ParseCurrent(blob.Bytes);
        var release = current?.Of(pin);
        var sources = new IRangeSource?[HashModes.All.Count];
        PasswordRelease? document = null;
        ReleaseChanges? changes = null;
        if (release is not null)
        {
            document = await ReleaseReader.FindAsync(stores.Blobs, release.Release, cancellationToken);
            foreach (var part in document?.PartsOf(release.Backend) ?? [])
                sources[(int)part.Mode] = await ReleaseReader.OpenAsync(stores, document!.Key, part, cancellationToken);
            if (Array.TrueForAll(sources, static source => source is null))
                throw new StoreMismatchException(
                    $"release {release.Release} is not in {release.Backend.Name()}, from which it should be served: switch to another "
                    + "release (hibp passwords switch)");
            changes = await ReleaseChanges.OpenAsync(stores.Blobs, document!.Key, Time, cancellationToken, isReplica);
            LogServed(release.Release, release.Backend.Name());
        }
        else if (known?.Release is not null)
        {
            LogNothing();
        }
        return new ServedRanges(
            blob?.ETag, release, document, current?.ChangedAt ?? default, sources, changes,
            document is null ? null : new RangeOverlays(stores.Blobs, document.Key));
    }

    protected override UnavailableException NotRead() => new("the served release has not been read yet");

    protected override void OnDown(string reason) => LogDown(reason);

    protected override void OnUp(ServedRanges value) => LogUp();

    [LoggerMessage(EventIds.ServedReaderServed, LogLevel.Information, "passwords: serving release {Release} from {Backend}")]
    private partial void LogServed(string release, string backend);

    [LoggerMessage(
        EventIds.ServedReaderNothing, LogLevel.Warning,
        "passwords: no release is served any more; to serve one, run: hibp passwords switch")]
    private partial void LogNothing();

    [LoggerMessage(
        EventIds.ServedReaderDown, LogLevel.Warning, "passwords: served release can't be read, serving the last known one: {Reason}")]
    private partial void LogDown(string reason);

    [LoggerMessage(EventIds.ServedReaderUp, LogLevel.Warning, "passwords: served release readable again")]
    private partial void LogUp();
}

/// <param name="ETag">ETag of the document that names the release; null if there is none.</param>
/// <param name="Since">Time of the switch to the release.</param>
/// <param name="Sources">Sources by mode; null if the mode is not served.</param>
internal sealed record ServedRanges(
    string? ETag, ServedRelease? Release, PasswordRelease? Document, DateTimeOffset Since, IRangeSource?[] Sources,
    ReleaseChanges? Changes, RangeOverlays? Overlays)
{
    private static int _serial;

    /// <summary>Unique within the process, so that cache entries of one instance are not used for another.</summary>
    public int Serial { get; } = Interlocked.Increment(ref _serial);

    public IRangeSource? this[HashMode mode] => Sources[(int)mode];
}
