namespace HibpIngest.Journal.Segments;

/// <summary>
/// Counts rows by domain over a segment's blocks, to list the large ones. Holds a 64-bit hash and a count per domain (12 bytes, in a table
/// at most two thirds full), and the name only of large ones. The sample's 63,762 domains take 1.5 MB; a segment of eight million domains,
/// which no breach has, would take 200 MB.
/// </summary>
internal sealed class DomainCounts
{
    private readonly Dictionary<ulong, byte[]> _large = [];
    private ulong[] _hashes = new ulong[1 << 12];
    private int[] _counts = new int[1 << 12];
    private int _used;

    public void Add(ReadOnlySpan<byte> domain, int rows)
    {
        var hash = XxHash3.HashToUInt64(domain);
        var slot = Find(hash);
        var before = _counts[slot];
        if (before == 0)
        {
            if (3L * (_used + 1) > 2L * _counts.Length)
            {
                Grow();
                slot = Find(hash);
            }
            _used++;
            _hashes[slot] = hash;
        }
        _counts[slot] = before + rows;
        if (before < SegmentLimits.LargeDomainRows && before + rows >= SegmentLimits.LargeDomainRows)
            _large.Add(hash, domain.ToArray());
    }

    public List<LargeDomain> List()
    {
        var large = _large.ToList();
        large.Sort((one, other) => one.Value.AsSpan().SequenceCompareTo(other.Value));
        return [.. large.Select(domain => new LargeDomain(Encoding.ASCII.GetString(domain.Value), _counts[Find(domain.Key)]))];
    }

    private int Find(ulong hash)
    {
        var mask = _counts.Length - 1;
        var slot = (int)hash & mask;
        while (_counts[slot] != 0 && _hashes[slot] != hash)
            slot = (slot + 1) & mask;
        return slot;
    }

    private void Grow()
    {
        var (hashes, counts) = (_hashes, _counts);
        _hashes = new ulong[2 * hashes.Length];
        _counts = new int[2 * counts.Length];
        for (var i = 0; i < counts.Length; i++)
        {
            if (counts[i] == 0)
                continue;
            var slot = Find(hashes[i]);
            (_hashes[slot], _counts[slot]) = (hashes[i], counts[i]);
        }
    }
}

/// <summary>
/// A domain with at least <see cref="SegmentLimits.LargeDomainRows"/> rows in a segment, which a rebuild may have to split.
/// </summary>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record LargeDomain(string Domain, int Rows);
