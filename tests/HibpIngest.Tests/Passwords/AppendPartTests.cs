using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Ranges;

namespace HibpIngest.Tests.Passwords;

public sealed class AppendPartTests(ITestOutputHelper output)
{
    [Fact]
    public void Parts_contain_each_hash_once_and_never_split_a_range()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        for (var round = 0; round < 300; round++)
        {
            var prefixes = random.Next(1, 40);
            var rows = HashModes.All.Select(mode => Rows(random, mode, prefixes, random.Next(120))).ToArray();
            var bytes = AppendRows.Write(rows[0], rows[1]);
            var parts = AppendPart.Of(bytes, rows[0].Count, "one", maxRows: 10);

            Assert.Equal(Enumerable.Range(0, parts.Count), parts.Select(part => part.Number));
            Assert.Equal(rows.Sum(one => one.Count), parts.Sum(part => part.Rows));
            foreach (var mode in HashModes.All)
            {
                var read = parts.Where(part => part.Mode == mode).Select(part => AppendRows.Read(
                    mode, bytes.AsSpan(part.Offset, part.Rows * AppendRows.RowBytes(mode)))).ToList();
                Assert.Equal(rows[(int)mode], read.SelectMany(part => part));
                Assert.All(read.Zip(read.Skip(1)), pair => Assert.NotEqual(pair.First[^1].Prefix, pair.Second[0].Prefix));
                // A part exceeds the limit only if it is a single range.
                Assert.All(read.Where(part => part.Count > 10), part => Assert.Equal(part[0].Prefix, part[^1].Prefix));
            }
        }
    }

    [Fact]
    public void AppendMessage_round_trips_and_rejects_malformed_JSON()
    {
        var whole = new AppendMessage("somebody", Guid.NewGuid());
        var part = whole with { Part = new AppendPart(3, HashMode.Ntlm, 5_600, 17, "20261122") };
        Assert.Equal(whole, WorkMessage.Parse<AppendMessage>(whole.ToJson()));
        Assert.Equal(part, WorkMessage.Parse<AppendMessage>(part.ToJson()));
        foreach (var other in new[] { "", "{", "null", "{}", part.ToJson().Replace("17", "0", StringComparison.Ordinal) })
            Assert.Throws<UnreadableMessageException>(() => WorkMessage.Parse<AppendMessage>(other));
    }

    [Fact]
    public void Truncated_or_unsorted_rows_are_rejected()
    {
        var rows = Rows(new Random(1), HashMode.Sha1, 3, 5);
        var bytes = AppendRows.Write(rows, []);
        Assert.Equal(rows, AppendRows.Read(HashMode.Sha1, bytes));
        Assert.Throws<StoreMismatchException>(() => AppendRows.Read(HashMode.Sha1, bytes.AsSpan(..^1)));
        byte[] swapped = [.. bytes[AppendRows.RowBytes(HashMode.Sha1)..], .. bytes[..AppendRows.RowBytes(HashMode.Sha1)]];
        Assert.Throws<StoreMismatchException>(() => AppendRows.Read(HashMode.Sha1, swapped));
    }

    [Fact]
    public void AppliedTransactions_contains_its_ids_and_Among_keeps_only_the_given_ones()
    {
        Guid[] ids = [.. Enumerable.Range(0, 50).Select(_ => Guid.NewGuid())];
        var applied = ids.Aggregate(AppliedTransactions.Parse(null), (before, id) => before.With(id));
        Assert.Equal(50, applied.Count);
        Assert.All(ids, id => Assert.True(AppliedTransactions.Parse(applied.Text).Contains(id)));
        Assert.False(applied.Contains(Guid.NewGuid()));
        Guid[] kept = [ids[3], ids[44]];
        Assert.Equal(kept.Aggregate(AppliedTransactions.Parse(null), (before, id) => before.With(id)), applied.Among(kept.Reverse()));
        Assert.Throws<StoreMismatchException>(() => AppliedTransactions.Parse("short"));
        Assert.InRange(new AppliedTransactions(new string('A', 22 * AppliedTransactions.MaxIds)).Text.Length, 1, 8_000);
    }

    private static List<HashCount> Rows(Random random, HashMode mode, int prefixes, int count)
    {
        var rows = new List<HashCount>();
        for (var i = 0; i < count; i++)
        {
            var hash = new byte[mode.Bytes()];
            random.NextBytes(hash);
            (hash[0], hash[1]) = (0, 0);
            hash[2] = (byte)((random.Next(prefixes) << 4) | (hash[2] & 0x0F));
            rows.Add(new HashCount(hash, random.Next(1, 1_000)));
        }
        AppendRows.Sort(rows);
        return rows;
    }
}
