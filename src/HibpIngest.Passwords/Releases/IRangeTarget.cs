namespace HibpIngest.Passwords.Releases;

/// <summary>
/// One mode of a release that is being written into one of the back ends. A group can be written several times; the part is listed in the
/// release only when it is complete.
/// </summary>
internal interface IRangeTarget
{
    PasswordBackend Backend { get; }

    /// <summary>Prepares the back end; called before the first group.</summary>
    /// <param name="isNew">Whether no earlier run has written any of it.</param>
    /// <exception cref="Errors.NotPossibleException">Data of another import is there, which this one would be mixed with.</exception>
    Task BeginAsync(bool isNew, CancellationToken cancellationToken);

    IGroupTarget BeginGroup(int group);

    /// <summary>Writes the index or list by which readers find the ranges.</summary>
    /// <param name="groups">The record of each group, by number.</param>
    Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken);
}

/// <summary>A group that is being written; disposing it early abandons it.</summary>
internal interface IGroupTarget : IAsyncDisposable
{
    /// <summary>Adds a range; ranges come in order.</summary>
    /// <param name="rows">The range's hashes, at least one.</param>
    /// <param name="gzip">The same hashes as they are sent; the array must not be changed afterwards.</param>
    ValueTask AddAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken);

    /// <summary>Waits until the whole group is written.</summary>
    /// <returns>The record that the index needs; null: the back end has no index.</returns>
    Task<PackRecord?> CompleteAsync(long rows, CancellationToken cancellationToken);
}

/// <summary>A group that was written, in the form in which an interrupted import finds it again.</summary>
/// <param name="Sum">As in <see cref="RowSum"/>.</param>
/// <param name="Present">One bit per range, set if the range holds a hash.</param>
internal sealed record GroupRecord(long Rows, ulong Sum, byte[] Present, PackRecord? Pack)
{
    public RowSum Total => new(Rows, Sum);
}
