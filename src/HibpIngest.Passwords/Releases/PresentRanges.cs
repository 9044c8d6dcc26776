using System.IO.Hashing;

namespace HibpIngest.Passwords.Releases;

/// <summary>One bit per range, set if it holds a hash: a missing range is an error, and an empty one costs no read.</summary>
internal sealed class PresentRanges(ReadOnlyMemory<byte> bits)
{
    public const int GroupBytes = PasswordNames.RangesOfGroup / 8;

    private const int HeaderBytes = 16;
    private const int ChecksumAt = HeaderBytes + (HashModes.Ranges / 8);
    private const int Bytes = ChecksumAt + sizeof(uint);

    private static ReadOnlySpan<byte> Magic => "HIBPPR01"u8;

    public bool this[int prefix] => (bits.Span[prefix / 8] & (1 << (prefix % 8))) != 0;

    public static void Add(Span<byte> bits, int prefix)
    {
        var place = prefix % PasswordNames.RangesOfGroup;
        bits[place / 8] |= (byte)(1 << (place % 8));
    }

    public static byte[] Make(HashMode mode, IEnumerable<ReadOnlyMemory<byte>> groups)
    {
        var bytes = new byte[Bytes];
        Magic.CopyTo(bytes);
        bytes[8] = (byte)mode;
        var at = HeaderBytes;
        foreach (var group in groups)
        {
            group.Span.CopyTo(bytes.AsSpan(at));
            at += GroupBytes;
        }
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(ChecksumAt), Crc32.HashToUInt32(bytes.AsSpan(0, ChecksumAt)));
        return bytes;
    }

    public static PresentRanges Parse(HashMode mode, ReadOnlyMemory<byte> content)
    {
        var bytes = content.Span;
        if (bytes.Length != Bytes || !bytes.StartsWith(Magic) || bytes[8] != (byte)mode
            || BinaryPrimitives.ReadUInt32LittleEndian(bytes[ChecksumAt..]) != Crc32.HashToUInt32(bytes[..ChecksumAt]))
            throw new StoreMismatchException("a list of ranges can't be read: it is damaged, or was written by another program; restore "
                + "a version of the blob, or serve another release: hibp passwords switch");
        return new PresentRanges(content[HeaderBytes..ChecksumAt]);
    }

    public IEnumerable<int> OfGroup(int group) =>
        Enumerable.Range(group * PasswordNames.RangesOfGroup, PasswordNames.RangesOfGroup).Where(prefix => this[prefix]);
}
