using System.Numerics;
using System.Runtime.InteropServices;

namespace HibpIngest.Clients;

/// <summary>
/// The SHA-1 prefixes (six hex digits, 16,777,216 in all) that a client watches: one bit each, always 2 MB. The bit of prefix p is bit p
/// mod 8, counted from the least significant, of byte p / 8.
/// </summary>
public sealed class PrefixBitmap
{
    public const int Digits = 6;
    public const int Prefixes = 1 << (4 * Digits);
    public const int Length = Prefixes / 8;

    private readonly byte[] _bits;

    public PrefixBitmap() => _bits = new byte[Length];

    /// <param name="bits">The bitmap's bytes. The array is not copied.</param>
    /// <exception cref="ArgumentException">The array doesn't have <see cref="Length"/> bytes.</exception>
    public PrefixBitmap(byte[] bits)
    {
        if (bits.Length != Length)
            throw new ArgumentException($"a bitmap of prefixes has {Length} bytes, not {bits.Length}", nameof(bits));
        _bits = bits;
    }

    public ReadOnlyMemory<byte> Bytes => _bits;

    public int Count
    {
        get
        {
            var count = 0;
            foreach (var bits in MemoryMarshal.Cast<byte, ulong>(_bits))
                count += BitOperations.PopCount(bits);
            return count;
        }
    }

    public bool Contains(int prefix) => (_bits[prefix >> 3] >> (prefix & 7) & 1) != 0;

    /// <returns>False if nothing changed.</returns>
    public bool Set(int prefix, bool isIn)
    {
        if (Contains(prefix) == isIn)
            return false;
        _bits[prefix >> 3] ^= (byte)(1 << (prefix & 7));
        return true;
    }

    public static bool TryParse(ReadOnlySpan<byte> digits, out int prefix)
    {
        Span<byte> bytes = stackalloc byte[Digits / 2];
        prefix = 0;
        if (digits.Length != Digits || Convert.FromHexString(digits, bytes, out _, out _) != System.Buffers.OperationStatus.Done)
            return false;
        prefix = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        return true;
    }

    public static string TextOf(int prefix) => prefix.ToString("X6", System.Globalization.CultureInfo.InvariantCulture);
}
