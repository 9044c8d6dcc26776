namespace HibpIngest.Passwords;

/// <summary>One mode of a release, as one of the back ends has it. Immutable, so that what is read of it is of one release.</summary>
internal interface IRangeSource
{
    /// <summary>When it was whole.</summary>
    DateTimeOffset CompletedAt { get; }

    /// <summary>A range; null: there is no hash in it.</summary>
    /// <exception cref="Errors.StoreUnavailableException">It can't be read now, or is missing.</exception>
    Task<RangeContent?> ReadAsync(int prefix, CancellationToken cancellationToken);

    /// <summary>All ranges of a group that hold any, in order.</summary>
    IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadGroupAsync(int group, CancellationToken cancellationToken);
}
