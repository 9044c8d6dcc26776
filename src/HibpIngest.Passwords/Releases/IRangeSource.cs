namespace HibpIngest.Passwords.Releases;

/// <summary>One mode of a release in one of the back ends. Immutable, so that everything read from it belongs to one release.</summary>
internal interface IRangeSource
{
    /// <summary>When the part was complete.</summary>
    DateTimeOffset CompletedAt { get; }

    /// <summary>Reads a range.</summary>
    /// <returns>Null if the range has no hash.</returns>
    /// <exception cref="Errors.StoreUnavailableException">The range can't be read now, or is missing.</exception>
    Task<RangeContent?> ReadAsync(int prefix, CancellationToken cancellationToken);

    /// <summary>Reads all ranges of a group that hold a hash, in order.</summary>
    IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadGroupAsync(int group, CancellationToken cancellationToken);
}
