using HibpIngest.Passwords.Appends;

namespace HibpIngest.Passwords.Serving;

/// <summary>The release that is currently served, from one back end.</summary>
internal sealed class ServedRanges
{
    private static int _serial;

    private readonly IRangeSource?[] _sources = new IRangeSource?[HashModes.All.Count];

    /// <param name="etag">ETag of the document that names the release; null: there is no document.</param>
    /// <param name="release">Null: nothing is served.</param>
    public ServedRanges(
        string? etag, ServedRelease? release, PasswordRelease? document, DateTimeOffset since,
        IReadOnlyDictionary<HashMode, IRangeSource> sources, ReleaseChanges? changes, RangeOverlays? overlays)
    {
        (ETag, Release, Document, Since, Changes, Overlays) = (etag, release, document, since, changes, overlays);
        foreach (var (mode, source) in sources)
            _sources[(int)mode] = source;
    }

    public string? ETag { get; }

    public ServedRelease? Release { get; }

    public PasswordRelease? Document { get; }

    /// <summary>When the release was switched to.</summary>
    public DateTimeOffset Since { get; }

    /// <summary>The ranges that were added to since the import; null if nothing is served.</summary>
    public ReleaseChanges? Changes { get; }

    public RangeOverlays? Overlays { get; }

    /// <summary>Unique within the process, so that cache entries of one instance are not used for another.</summary>
    public int Serial { get; } = Interlocked.Increment(ref _serial);

    /// <summary>The source of a mode; null: it is not served.</summary>
    public IRangeSource? this[HashMode mode] => _sources[(int)mode];
}
