using System.Numerics;

namespace HibpIngest.Accounts;

/// <summary>
/// IANA's list of top-level domains, including punycode names, embedded as <c>tlds-alpha-by-domain.txt</c>.
/// <c>refresh-top-level-domains.sh</c> in the same folder downloads the current list. Lookups don't allocate.
/// </summary>
public static class TopLevelDomains
{
    private const string Resource = "tlds-alpha-by-domain.txt";
    private const string VersionPrefix = "# Version ";

    private const int MaxShort = 7;

    // Open addressing; four slots per name keep chains short. Nearly every account has a short name, which its slot holds. The slot of a
    // longer name holds its index plus 1; an empty slot is 0.
    private static readonly ulong[] ShortNames;
    private static readonly ushort[] Slots;
    private static readonly byte[][] Names;

#pragma warning disable CA1810, MA0069 // one pass over the resource initialises all fields
    static TopLevelDomains()
    {
        using var stream = typeof(TopLevelDomains).Assembly.GetManifestResourceStream(Resource)
            ?? throw new InvalidOperationException($"the assembly is missing its resource {Resource}");
        using var reader = new StreamReader(stream, Encoding.ASCII);
        // The first line is "# Version 2025100500, Last Updated Sun Oct  5 07:07:01 2025 UTC"; the version starts with the date.
        var header = reader.ReadLine() ?? "";
        if (!header.StartsWith(VersionPrefix, StringComparison.Ordinal) || header.IndexOf(',') < VersionPrefix.Length + 8)
        {
            throw new InvalidOperationException($"{Resource}: expected IANA's version line ('# Version yyyyMMddNN, ...') first, found "
                + $"'{header}'; run refresh-top-level-domains.sh");
        }
        ListVersion = header[VersionPrefix.Length..header.IndexOf(',')];
        ListDate = DateOnly.ParseExact(ListVersion.AsSpan(0, 8), "yyyyMMdd", CultureInfo.InvariantCulture);

        var names = new List<string>(1500);
        while (reader.ReadLine() is { } line)
        {
            if (line.Length > 0 && line[0] != '#')
                names.Add(line.Trim().ToLowerInvariant());
        }
        names.Sort(StringComparer.Ordinal);
        All = names;
        Hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.ASCII.GetBytes(string.Join('\n', names))));

        Names = [.. names.Select(Encoding.ASCII.GetBytes)];
        Slots = new ushort[(int)BitOperations.RoundUpToPowerOf2((uint)names.Count * 4)];
        ShortNames = new ulong[Slots.Length];
        for (var index = 0; index < Names.Length; index++)
        {
            if (Names[index].Length <= MaxShort)
            {
                var key = ShortKey(Names[index]);
                var place = PlaceOf(key);
                while (ShortNames[place & (ShortNames.Length - 1)] != 0)
                    place++;
                ShortNames[place & (ShortNames.Length - 1)] = key;
                continue;
            }
            var slot = HashOf(Names[index]);
            while (Slots[slot & (Slots.Length - 1)] != 0)
                slot++;
            Slots[slot & (Slots.Length - 1)] = checked((ushort)(index + 1));
        }
    }
#pragma warning restore CA1810, MA0069

    /// <summary>IANA's version of the list, e.g. <c>2025100500</c>.</summary>
    public static string ListVersion { get; }
    public static DateOnly ListDate { get; }

    /// <summary>
    /// SHA-256 of the names (lower-case, sorted, joined by line feeds) in lower-case hex. Comments in the file don't change it.
    /// </summary>
    public static string Hash { get; }

    /// <summary>All names, lower-case, sorted.</summary>
    public static IReadOnlyList<string> All { get; }

    /// <summary>Returns whether a label (lower-case ASCII) is a top-level domain.</summary>
    public static bool Contains(ReadOnlySpan<byte> label)
    {
        if (label.Length <= MaxShort)
        {
            var key = ShortKey(label);
            for (var place = PlaceOf(key); ; place++)
            {
                var name = ShortNames[place & (ShortNames.Length - 1)];
                if (name == key || name == 0)
                    return name != 0;
            }
        }

        var slots = Slots;
        for (var slot = HashOf(label); ; slot++)
        {
            var entry = slots[slot & (slots.Length - 1)];
            if (entry == 0)
                return false;
            if (label.SequenceEqual(Names[entry - 1]))
                return true;
        }
    }

    // The bytes, and the length so that no label has the key 0.
    private static ulong ShortKey(ReadOnlySpan<byte> label)
    {
        var bytes = label.Length switch
        {
            >= 4 => BinaryPrimitives.ReadUInt32LittleEndian(label)
                | ((ulong)BinaryPrimitives.ReadUInt32LittleEndian(label[^4..]) << ((label.Length - 4) * 8)),
            >= 2 => BinaryPrimitives.ReadUInt16LittleEndian(label) | ((uint)label[^1] << ((label.Length - 1) * 8)),
            1 => label[0],
            _ => 0ul,
        };
        return bytes | ((ulong)(label.Length + 1) << 56);
    }

    private static int PlaceOf(ulong key) => (int)((key * 0x9E3779B97F4A7C15) >> 33);

    // FNV-1a.
    private static int HashOf(ReadOnlySpan<byte> label)
    {
        var hash = 2166136261u;
        foreach (var b in label)
            hash = (hash ^ b) * 16777619u;
        return (int)((hash ^ (hash >> 15)) & 0x7FFFFFF);
    }
}
