using System.Numerics;
using System.Runtime.InteropServices;

namespace HibpIngest.Clients;

/// <summary>
/// Which of the 16,777,216 prefixes of six hex digits of SHA-1 a client watches: a bit each, 2 MB, however many they are. The bit of
/// prefix p is bit p mod 8, counted from the least significant, of byte p / 8.
/// </summary>
public sealed class PrefixBitmap
{
    /// <summary>Hex digits of a prefix.</summary>
    public const int Digits = 6;

    public const int Prefixes = 1 << (4 * Digits);

    public const int Length = Prefixes / 8;

    private readonly byte[] _bits;

    public PrefixBitmap() => _bits = new byte[Length];

    /// <param name="bits">Its bytes, which it takes over.</param>
    /// <exception cref="ArgumentException">They are not <see cref="Length"/>.</exception>
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

    /// <summary>Puts a prefix in, or takes it out; false where it was so already.</summary>
    public bool Set(int prefix, bool isIn)
    {
        if (Contains(prefix) == isIn)
            return false;
        _bits[prefix >> 3] ^= (byte)(1 << (prefix & 7));
        return true;
    }

    /// <summary>The number of a prefix, of hex digits in either case; false where it is none.</summary>
    public static bool TryParse(ReadOnlySpan<byte> digits, out int prefix)
    {
        Span<byte> bytes = stackalloc byte[Digits / 2];
        prefix = 0;
        if (digits.Length != Digits || Convert.FromHexString(digits, bytes, out _, out _) != System.Buffers.OperationStatus.Done)
            return false;
        prefix = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        return true;
    }

    /// <summary>Its six digits, upper-case.</summary>
    public static string TextOf(int prefix) => prefix.ToString("X6", System.Globalization.CultureInfo.InvariantCulture);
}
