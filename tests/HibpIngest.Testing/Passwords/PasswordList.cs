using System.Numerics;

namespace HibpIngest.Testing;

/// <summary>Made-up hashes as in real lists: in random order, some repeated, some with count 0, few in lower case.</summary>
/// <param name="prefixes">Number of prefixes, spread evenly over 00000 to 027FF.</param>
internal sealed class PasswordList(long rows, int prefixes, int seed)
{
    // The density of the published list: 20 million hashes in this many prefixes.
    private const int FirstEmptyPrefix = 0x2800;

    private const double Repeated = 0.03;
    private const double Zeros = 0.002;
    private const double Odd = 0.001;
    private const double LargestCount = 50_000_000;

    public int Prefix(int index) => (int)((long)index * FirstEmptyPrefix / prefixes);

    /// <summary>Writes the list, and the lines of some prefixes to a second file.</summary>
    /// <param name="isSmall">Returns true for a prefix, by index, that is in the second file.</param>
    public void Write(HashMode mode, string file, string smallFile, Func<int, bool> isSmall)
    {
        using var output = new BufferedStream(File.Create(file), 1 << 20);
        using var small = new BufferedStream(File.Create(smallFile), 1 << 16);
        var random = new Random(seed + (int)mode);
        Span<byte> hash = stackalloc byte[mode.Bytes()];
        Span<byte> line = stackalloc byte[96];
        for (var row = 0L; row < rows; row++)
        {
            var prefix = Fill(hash, mode, random.NextDouble() < Repeated ? random.NextInt64(row + 1) : row);
            var isOdd = random.NextDouble() < Odd;
            if (isOdd)
                Convert.TryToHexStringLower(hash, line, out _);
            else
                Convert.TryToHexString(hash, line, out _);
            var at = mode.Digits();
            line[at++] = (byte)':';
            var count = random.NextDouble() < Zeros ? 0 : (long)Math.Min(1 / (1 - random.NextDouble()), LargestCount);
            count.TryFormat(line[at..], out var digits, default, CultureInfo.InvariantCulture);
            at += digits;
            // The published SHA-1 list has CRLF; the NTLM list is assumed to have LF.
            if ((mode == HashMode.Sha1) != isOdd)
                line[at++] = (byte)'\r';
            line[at++] = (byte)'\n';
            output.Write(line[..at]);
            if (isSmall(prefix))
                small.Write(line[..at]);
        }
    }

    /// <returns>The index of its prefix.</returns>
    private int Fill(Span<byte> hash, HashMode mode, long number)
    {
        var state = (ulong)number ^ BitOperations.RotateLeft(Mix((ulong)(((long)seed << 1) | (long)mode)), 17);
        var prefix = (int)(Mix(state) % (ulong)prefixes);
        Span<byte> word = stackalloc byte[sizeof(ulong)];
        for (var at = 0; at < hash.Length; at += word.Length)
        {
            System.Buffers.Binary.BinaryPrimitives.WriteUInt64BigEndian(word, Mix(state + (ulong)at + 1));
            word[..Math.Min(word.Length, hash.Length - at)].CopyTo(hash[at..]);
        }
        var digits = Prefix(prefix);
        (hash[0], hash[1], hash[2]) = ((byte)(digits >> 12), (byte)(digits >> 4), (byte)((digits << 4) | (hash[2] & 0xF)));
        return prefix;
    }

    /// <summary>SplitMix64 (Steele, Lea, Flood 2014).</summary>
    private static ulong Mix(ulong value)
    {
        value += 0x9E3779B97F4A7C15;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }
}
