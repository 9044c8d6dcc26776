namespace HibpIngest.Passwords;

/// <summary>The ranges of a group as they are written: each compressed, and all that they are known by afterwards.</summary>
internal sealed class GroupRows(HashMode mode)
{
    private byte[] _text = [];
    private RowSum _total;

    public RowSum Total => _total;

    /// <summary>A bit a range: it holds a hash.</summary>
    public byte[] Present { get; } = new byte[PresentRanges.GroupBytes];

    /// <summary>Adds a range, and compresses it as it is sent.</summary>
    public byte[] Add(int prefix, ReadOnlySpan<HashCount> rows)
    {
        PresentRanges.Add(Present, prefix);
        _total.Add(mode, rows);
        if (_text.Length < RangeText.MaxBytes(mode, rows.Length))
            _text = new byte[RangeText.MaxBytes(mode, rows.Length)];
        return RangeGzip.Compress(_text.AsSpan(0, RangeText.Write(mode, rows, _text)));
    }
}
