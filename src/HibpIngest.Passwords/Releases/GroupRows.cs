namespace HibpIngest.Passwords.Releases;

/// <summary>Compresses the ranges of a group for writing, and collects the group's totals.</summary>
internal sealed class GroupRows(HashMode mode)
{
    private byte[] _text = [];
    private RowSum _total;

    public RowSum Total => _total;

    /// <summary>One bit per range, set if the range holds a hash.</summary>
    public byte[] Present { get; } = new byte[PresentRanges.GroupBytes];

    /// <summary>Adds a range, and returns it compressed as it is sent.</summary>
    public byte[] Add(int prefix, ReadOnlySpan<HashCount> rows)
    {
        PresentRanges.Add(Present, prefix);
        _total.Add(mode, rows);
        if (_text.Length < RangeText.MaxBytes(mode, rows.Length))
            _text = new byte[RangeText.MaxBytes(mode, rows.Length)];
        return RangeGzip.Compress(_text.AsSpan(0, RangeText.Write(mode, rows, _text)));
    }
}
