using System.Runtime.InteropServices;

namespace HibpIngest.Passwords.Ranges;

/// <summary>A hash and how often it was seen. Fixed size, so that millions are stored and sorted in one array.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
public readonly struct HashCount
{
    // Big-endian, so that they compare as the hex digits do. An NTLM hash has no third part.
    private readonly ulong _first;
    private readonly ulong _second;
    private readonly uint _third;

    /// <param name="hash">20 bytes (SHA-1) or 16 (NTLM).</param>
    /// <param name="count">How often the hash was seen, 0 or more.</param>
    public HashCount(ReadOnlySpan<byte> hash, long count)
    {
        _first = BinaryPrimitives.ReadUInt64BigEndian(hash);
        _second = BinaryPrimitives.ReadUInt64BigEndian(hash[8..]);
        _third = hash.Length > 16 ? BinaryPrimitives.ReadUInt32BigEndian(hash[16..]) : 0;
        Count = count;
    }

    private HashCount(in HashCount hash, long count) => (_first, _second, _third, Count) = (hash._first, hash._second, hash._third, count);

    public long Count { get; }

    /// <summary>The hash's first five hex digits, as a number.</summary>
    public int Prefix => (int)(_first >> 44);

    /// <summary>Returns a byte of the hash, from 0 to 19; 0 past the end of an NTLM hash.</summary>
    internal int ByteAt(int index) => index switch
    {
        < 8 => (int)(_first >> (56 - (8 * index))) & 0xFF,
        < 16 => (int)(_second >> (56 - (8 * (index - 8)))) & 0xFF,
        _ => (int)(_third >> (24 - (8 * (index - 16)))) & 0xFF,
    };

    internal bool IsBefore(in HashCount other)
    {
        if (_first != other._first)
            return _first < other._first;
        return _second != other._second ? _second < other._second : _third < other._third;
    }

    public bool IsSameHash(in HashCount other) => _first == other._first && _second == other._second && _third == other._third;

    /// <summary>Returns the hash with the counts of both; the sum saturates at <see cref="long.MaxValue"/>.</summary>
    public HashCount Plus(in HashCount other) => new(this, AddSaturating(Count, other.Count));

    public void WriteHash(Span<byte> hash)
    {
        BinaryPrimitives.WriteUInt64BigEndian(hash, _first);
        BinaryPrimitives.WriteUInt64BigEndian(hash[8..], _second);
        if (hash.Length > 16)
            BinaryPrimitives.WriteUInt32BigEndian(hash[16..], _third);
    }

    public static long AddSaturating(long one, long other) => one > long.MaxValue - other ? long.MaxValue : one + other;
}
