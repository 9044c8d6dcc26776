using HibpIngest.Journal.Segments;

namespace HibpIngest.Testing;

/// <summary>Segments of made-up rows.</summary>
internal static class SegmentSamples
{
    public const string Name = "1/abc.0000000001.alog";

    public const int FirstSlice = 5;

    private const string Letters = "abcdefghijklmnopqrstuvwxyz0123456789.-_+";

    public static SegmentFacts Facts(long first, long last, int sliceRows = LoadSettings.DefaultSliceRows) => new()
    {
        Store = new Guid("00112233-4455-6677-8899-aabbccddeeff"),
        Load = new(7),
        Mark = 9,
        Blob = new BlobVersion("Adobe.2.zip", "\"0x8DD0123456789AB\""),
        Generation = 2,
        StartedAt = new DateTimeOffset(2026, 3, 1, 12, 34, 56, 789, TimeSpan.Zero),
        Breach = "Ärger & Söhne",
        ExtractorVersion = 4,
        BatchRows = 2 * sliceRows,
        SliceRows = sliceRows,
        First = first,
        Last = last,
    };

    /// <summary>Makes rows with many repeats and common prefixes, with aliases and domains of every valid length.</summary>
    public static List<(string Domain, string Alias)> Rows(Random random, int count)
    {
        var domains = Enumerable.Range(0, Math.Max(1, count / 8))
            .Select(_ => Text(random, random.Next(4) == 0 ? random.Next(4, 256) : random.Next(4, 20)))
            .Append(new string('z', 255)).ToList();
        var rows = new List<(string Domain, string Alias)>(count);
        while (rows.Count < count)
        {
            var domain = domains[Math.Min(random.Next(domains.Count), random.Next(domains.Count))];
            var row = random.Next(10) switch
            {
                0 when rows.Count > 0 => rows[random.Next(rows.Count)],
                1 when rows.Count > 0 => (domain, rows[random.Next(rows.Count)].Alias),
                2 => (domain, Text(random, random.Next(1, 65))),
                3 => (domain, new string('a', random.Next(1, 65))),
                4 or 5 when rows.Count > 0 => (domain, Longer(random, rows[random.Next(rows.Count)].Alias)),
                _ => (domain, Text(random, random.Next(1, 12))),
            };
            rows.Add(row);
        }
        return rows;
    }

    /// <param name="slice">Number of the first slice.</param>
    public static async Task<(byte[] Bytes, SegmentSeal Seal)> WriteAsync(
        IReadOnlyList<(string Domain, string Alias)> rows, int sliceRows, BlockCodec codec = BlockCodec.Lz4, long first = 1,
        SegmentFacts? facts = null, int slice = FirstSlice)
    {
        using var output = new MemoryStream();
        using var writer = new SegmentWriter(output, facts ?? Facts(first, first + rows.Count - 1, sliceRows), codec);
        var batch = new AccountBatch(sliceRows);
        foreach (var part in rows.Chunk(sliceRows))
        {
            Fill(batch, first, part);
            await writer.AddAsync(slice++, batch, CancellationToken.None);
            first += part.Length;
        }
        var seal = await writer.SealAsync(CancellationToken.None);
        return (output.ToArray(), seal);
    }

    public static void Fill(AccountBatch batch, long first, IEnumerable<(string Domain, string Alias)> rows)
    {
        batch.Clear();
        batch.FirstPosition = first;
        foreach (var (domain, alias) in rows)
            batch.Add(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain));
    }

    /// <summary>Returns the rows that a reader is expected to find: each slice's, sorted.</summary>
    public static List<(string Domain, string Alias)> Expected(IEnumerable<(string Domain, string Alias)> rows, int sliceRows) =>
    [
        .. rows.Chunk(sliceRows).SelectMany(
            slice => slice.OrderBy(row => row.Domain, StringComparer.Ordinal).ThenBy(row => row.Alias, StringComparer.Ordinal)),
    ];

    private static string Longer(Random random, string alias) =>
        alias[..random.Next(1, alias.Length + 1)] + Text(random, random.Next(0, 64)) is var text && text.Length > 64 ? text[..64] : text;

    private static string Text(Random random, int length) => new(random.GetItems(Letters.AsSpan(), length));
}
