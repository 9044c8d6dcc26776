namespace HibpIngest.Passwords.Releases;

/// <summary>One mode of a release that is being written into a back end. A group can be written several times.</summary>
internal interface IRangeTarget
{
    PasswordBackend Backend { get; }

    /// <param name="isNew">True if no earlier run has written any of it.</param>
    /// <exception cref="NotPossibleException">Data of another import is there.</exception>
    Task BeginAsync(bool isNew, CancellationToken cancellationToken);

    IGroupTarget BeginGroup(int group);

    /// <summary>Writes the index or list by which readers find the ranges, and returns its ETag.</summary>
    Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken);
}

/// <summary>A group that is being written; disposing it early abandons it.</summary>
internal interface IGroupTarget : IAsyncDisposable
{
    /// <summary>Adds a range; ranges come in order.</summary>
    /// <param name="gzip">The same hashes as they are sent; the array must not be changed afterwards.</param>
    ValueTask AddAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken);

    /// <returns>The record that the index needs, once the whole group is written; null if the back end has no index.</returns>
    Task<PackRecord?> CompleteAsync(long rows, CancellationToken cancellationToken);
}

/// <summary>A group that was written, as an interrupted import finds it again.</summary>
/// <param name="Present">One bit per range, set if the range holds a hash.</param>
internal sealed record GroupRecord(long Rows, ulong Sum, byte[] Present, PackRecord? Pack)
{
    public RowSum Total => new(Rows, Sum);
}

/// <summary>Compresses the ranges of a group for writing, and collects the group's totals.</summary>
internal sealed class GroupRows(HashMode mode)
{
    private byte[] _text = [];
    private RowSum _total;

    public RowSum Total => _total;

    public byte[] Present { get; } = new byte[PresentRanges.GroupBytes];

    public byte[] Add(int prefix, ReadOnlySpan<HashCount> rows)
    {
        PresentRanges.Add(Present, prefix);
        _total.Add(mode, rows);
        if (_text.Length < RangeText.MaxBytes(mode, rows.Length))
            _text = new byte[RangeText.MaxBytes(mode, rows.Length)];
        return RangeGzip.Compress(_text.AsSpan(0, RangeText.Write(mode, rows, _text)));
    }
}
