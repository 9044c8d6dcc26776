namespace HibpIngest.Journal.Segments;

/// <summary>An unsigned number in LEB128 (groups of seven bits, the lowest first), in its shortest form.</summary>
internal static class Varint
{
    private const int MaxBytes = 5;

    public static int Write(Span<byte> destination, int value)
    {
        var (rest, length) = ((uint)value, 0);
        for (; rest >= 0x80; rest >>= 7)
            destination[length++] = (byte)(rest | 0x80);
        destination[length++] = (byte)rest;
        return length;
    }

    /// <returns>False if there is none, or if it isn't in its shortest form.</returns>
    public static bool TryRead(ReadOnlySpan<byte> source, ref int at, out int value)
    {
        var number = 0UL;
        value = 0;
        for (var length = 0; length < MaxBytes && at < source.Length; length++)
        {
            var one = source[at++];
            number |= (ulong)(one & 0x7F) << (7 * length);
            if (one >= 0x80)
                continue;
            value = (int)number;
            return number <= int.MaxValue && (one != 0 || length == 0);
        }
        return false;
    }
}
