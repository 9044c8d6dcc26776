namespace HibpIngest.Passwords.Releases;

/// <summary>One mode of a release in one of the back ends. Immutable, so that everything read from it belongs to one release.</summary>
internal interface IRangeSource
{
    DateTimeOffset CompletedAt { get; }

    /// <returns>Null if the range has no hash.</returns>
    /// <exception cref="UnavailableException">The range can't be read now, or is missing.</exception>
    Task<RangeContent?> ReadAsync(int prefix, CancellationToken cancellationToken);

    /// <summary>Reads all ranges of a group that hold a hash, in order.</summary>
    IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadGroupAsync(int group, CancellationToken cancellationToken);
}

/// <summary>A blob or row that a release names no longer exists: another release may be served by now.</summary>
internal sealed class RangeMissingException(ReleaseKey release)
    : UnavailableException($"passwords of release {release.Name} were deleted or replaced");
