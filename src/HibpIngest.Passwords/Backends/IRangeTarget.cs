namespace HibpIngest.Passwords;

/// <summary>
/// One mode of a release that is being written into one of the back ends: group by group, each as often as need be, and listed
/// in the release only when all of it is there.
/// </summary>
internal interface IRangeTarget
{
    PasswordBackend Backend { get; }

    /// <summary>Before the first group.</summary>
    /// <param name="anew">Nothing of it was written before.</param>
    /// <exception cref="Errors.NotPossibleException">There is something of it, and it would be mixed with that.</exception>
    Task BeginAsync(bool anew, CancellationToken cancellationToken);

    IGroupTarget BeginGroup(int group);

    /// <summary>Writes what readers find it all by.</summary>
    /// <param name="groups">What became of each, by number.</param>
    Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken);
}

/// <summary>A group that is being written; given up by disposing it.</summary>
internal interface IGroupTarget : IAsyncDisposable
{
    /// <summary>Adds a range; they come in order.</summary>
    /// <param name="rows">Its hashes, at least one.</param>
    /// <param name="gzip">The same, as sent; kept by the callee.</param>
    ValueTask AddAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken);

    /// <summary>Makes sure that all of it is written.</summary>
    /// <returns>What the index needs to know of it; null: nothing.</returns>
    Task<PackRecord?> CompleteAsync(long rows, CancellationToken cancellationToken);
}

/// <summary>A group that was written, as an import that is broken off finds it again.</summary>
/// <param name="Sum">As <see cref="RowSum"/> has it.</param>
/// <param name="Present">A bit a range: it holds a hash.</param>
internal sealed record GroupRecord(long Rows, ulong Sum, byte[] Present, PackRecord? Pack)
{
    public RowSum Total => new(Rows, Sum);
}
