using HibpIngest.Passwords.Ranges;

namespace HibpIngest.Tests.Passwords;

public sealed class RangeTextTests
{
    [Theory]
    [InlineData(HashMode.Sha1, 35)]
    [InlineData(HashMode.Ntlm, 27)]
    public void A_range_separates_rows_by_CRLF_without_a_trailing_one(HashMode mode, int suffix)
    {
        var random = new Random(7);
        var rows = Rows(random, mode, 0xABCDE, 50);
        var text = Text(mode, [.. rows.Select(row => row.Row)]);

        var lines = text.Split("\r\n");
        Assert.Equal(rows.Select(row => $"{row.Hash[5..]}:{row.Count}"), lines);
        Assert.All(lines, line => Assert.Matches($"^[0-9A-F]{{{suffix}}}:[0-9]+$", line));

        var read = new List<HashCount>();
        RangeText.Read(mode, 0xABCDE, Encoding.ASCII.GetBytes(text), read);
        Assert.Equal(rows.Select(row => $"{row.Hash}:{row.Count}"), read.Select(row => HashText.Of(row, mode)));
    }

    [Fact]
    public void The_maximum_count_fits_and_an_empty_range_is_one_row_of_zeros()
    {
        Span<byte> hash = stackalloc byte[20];
        hash.Fill(0xFF);
        Assert.EndsWith(":9223372036854775807", Text(HashMode.Sha1, [new HashCount(hash, long.MaxValue)]), StringComparison.Ordinal);
        Assert.Equal(new string('0', 35) + ":0", Encoding.ASCII.GetString(RangeText.OfNothing(HashMode.Sha1).Span));
        Assert.Equal(new string('0', 27) + ":0", Encoding.ASCII.GetString(RangeText.OfNothing(HashMode.Ntlm).Span));
    }

    [Theory]
    [InlineData("0123")]
    [InlineData("00000000000000000000000000000000000:")]
    [InlineData("00000000000000000000000000000000000:x")]
    [InlineData("00000000000000000000000000000000000:1 ")]
    [InlineData("0000000000000000000000000000000000G:1")]
    [InlineData("00000000000000000000000000000000000:1\n00000000000000000000000000000000001:1")]
    public void Malformed_ranges_are_rejected(string text) =>
        Assert.Throws<StoreMismatchException>(() => RangeText.Read(HashMode.Sha1, 1, Encoding.ASCII.GetBytes(text), []));

    [Fact]
    public void Padding_is_10_to_209_random_rows_with_a_count_of_zero()
    {
        foreach (var (mode, digits) in new[] { (HashMode.Sha1, 35), (HashMode.Ntlm, 27) })
        {
            var seen = new HashSet<string>();
            var counts = new HashSet<int>();
            for (var i = 0; i < 2_000; i++)
            {
                var text = Encoding.ASCII.GetString(RangePadding.Make(mode));
                Assert.StartsWith("\r\n", text, StringComparison.Ordinal);
                counts.Add(text.Count('\n'));
                if (i >= 20)
                    continue;
                foreach (var row in text[2..].Split("\r\n"))
                {
                    Assert.Matches($"^[0-9A-F]{{{digits}}}:0$", row);
                    Assert.True(seen.Add(row));
                }
            }
            Assert.Equal((10, 209), (counts.Min(), counts.Max()));
        }
    }

    internal static List<(string Hash, long Count, HashCount Row)> Rows(Random random, HashMode mode, int prefix, int count)
    {
        var rows = new SortedDictionary<string, long>(StringComparer.Ordinal);
        while (rows.Count < count)
            rows[HashModes.PrefixText(prefix) + random.GetHexString(mode.SuffixDigits())] = random.NextInt64(1, 1L << random.Next(1, 40));
        return [.. rows.Select(row => (row.Key, row.Value, new HashCount(Convert.FromHexString(row.Key), row.Value)))];
    }

    internal static string Text(HashMode mode, HashCount[] rows)
    {
        var text = new byte[RangeText.MaxBytes(mode, rows.Length)];
        return Encoding.ASCII.GetString(text, 0, RangeText.Write(mode, rows, text));
    }
}
