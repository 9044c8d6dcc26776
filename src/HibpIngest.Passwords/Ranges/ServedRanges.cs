namespace HibpIngest.Passwords;

/// <summary>What is served for now: one release, from one back end.</summary>
internal sealed class ServedRanges
{
    private static int _serial;

    private readonly IRangeSource?[] _sources = new IRangeSource?[HashModes.All.Count];

    /// <param name="etag">Of the document that says so; null: there is none.</param>
    /// <param name="release">The release; null: nothing is served.</param>
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

    /// <summary>What the release holds; null where nothing is served.</summary>
    public PasswordRelease? Document { get; }

    /// <summary>When it was decided that this is served.</summary>
    public DateTimeOffset Since { get; }

    /// <summary>Which ranges were added to since; null where nothing is served.</summary>
    public ReleaseChanges? Changes { get; }

    public RangeOverlays? Overlays { get; }

    /// <summary>Another for each that is opened in this process: what is known of one is not known of the next.</summary>
    public int Serial { get; } = Interlocked.Increment(ref _serial);

    /// <summary>A mode's; null: it is not served.</summary>
    public IRangeSource? this[HashMode mode] => _sources[(int)mode];
}
