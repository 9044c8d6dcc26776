using HibpIngest.Journal.Merge;
using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Tests.Rebuild;

public sealed class MergedTransactionsTests
{
    private const int Loads = 5;
    private const int RowsOfLoad = 3_000;
    private static readonly CancellationToken None = CancellationToken.None;

    public static TheoryData<int[], bool, int> Cases() => new()
    {
        { [1, 2, 3, 4, 5], true, 1 << 30 },
        { [250, 251, 7, 7, 1_203], true, 100_000 }, // three rows of one account; two loads share a mark
        { [9, 8, 300, 20, 250], false, 100_000 },
    };

    [Theory]
    [MemberData(nameof(Cases))]
    public async Task Each_row_is_written_once_to_its_documented_place_with_all_its_marks(int[] marks, bool withRanges, int memory)
    {
        var facts = new LayoutFacts
        {
            StorageAccounts = [2, 3, 4, 1],
            SpreadDomains = new Dictionary<string, int> { ["gmail.com"] = 32, ["yahoo.com"] = 3 },
        };
        var (written, partitions) = await WriteAsync(facts, marks, withRanges, memory);
        Assert.True(partitions > 1 == memory < 1 << 30, $"{partitions} partitions");
        Assert.All(written, one => Assert.InRange(one.Rows.Count, 1, IAccountTable.MaxTransactionEntities));

        var expected = new SortedSet<string>(StringComparer.Ordinal);
        var accounts = Enumerable.Range(0, Loads).SelectMany(load => Accounts(load).Distinct().Select(account => (account, marks[load])))
            .GroupBy(one => one.account, one => one.Item2);
        foreach (var account in accounts)
        {
            var (alias, domain) = (account.Key.Split('@')[0], account.Key.Split('@')[1]);
            var hash = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account.Key)));
            foreach (var row in account.Distinct().Order().GroupBy(mark => (mark - 1) / 250))
            {
                var rowAndMarks = $"{row.Key}: {string.Join(' ', row)}";
                expected.Add($"{PlacementReference.Find(facts, alias, domain)} {alias} {rowAndMarks}");
                if (withRanges)
                    expected.Add($"{new PartitionPlace(hash[..2], PlacementReference.OfHash(facts, hash))} {hash[2..]} {rowAndMarks}");
            }
        }
        var found = written.SelectMany(one => one.Rows.Select(row => $"{one.Place} {row}")).ToList();
        Assert.Equal(expected.Count, found.Count);
        Assert.Equal(expected, new SortedSet<string>(found, StringComparer.Ordinal));
    }

    [Fact]
    public async Task Transactions_of_a_partition_are_spread_evenly()
    {
        var (written, _) = await WriteAsync(new LayoutFacts(), [1, 2, 3, 4, 5], false, 1 << 30);
        var large = written.Select((one, i) => (one.Place.Partition, i)).Where(one => one.Partition == "gmail.com").ToList();
        Assert.True(large.Count > 10);
        // Every prefix contains the partition's share, within a few transactions.
        for (var k = 0; k < large.Count; k++)
            Assert.InRange((double)large[k].i / written.Count, ((double)(k - 2)) / large.Count, ((double)(k + 2)) / large.Count);
    }

    /// <summary>Returns rows of a load, some of them duplicates, some shared with another load.</summary>
    private static IEnumerable<string> Accounts(int load) => Enumerable.Range(0, RowsOfLoad)
        .Select(row => (row % 5 == 0 ? row : (load * RowsOfLoad) + (row / 3 * 2)) is var number
            ? $"a{number}@{(number % 3 == 0 ? "gmail.com" : number % 7 == 0 ? "yahoo.com" : $"d{number % 400}.example.org")}" : "");

    private static async Task<(List<Written> Written, int Partitions)> WriteAsync(
        LayoutFacts facts, int[] marks, bool withRanges, int memory)
    {
        const int BatchRows = 700;
        using var folder = new TemporaryFolder();
        var (written, partitions) = (new List<Written>(), 0);
        var transactions = new MergedTransactions(facts, marks, withRanges);
        var sources = Enumerable.Range(0, Loads).Select(load => new BatchSource(
            RowsOfLoad, (RowsOfLoad + BatchRows - 1) / BatchRows, BatchRows, (number, into, _) =>
            {
                into.Clear();
                foreach (var account in Accounts(load).Skip(number * BatchRows).Take(BatchRows))
                    into.Add(Encoding.ASCII.GetBytes(account.Split('@')[0]), Encoding.ASCII.GetBytes(account.Split('@')[1]));
                return Task.CompletedTask;
            }));
        await new MergeAccounts(folder.Path, memory).RunAsync(
            [.. sources],
            partition =>
            {
                partitions++;
                transactions.Fill(partition);
                for (var i = 0; i < transactions.Count; i++)
                {
                    using var one = transactions.Make(i);
                    var place = new PartitionPlace(Encoding.ASCII.GetString(one.Partition.Span), one.StorageAccount);
                    var rows = one.Rows.Rows.ToArray().Select(row =>
                        $"{Encoding.ASCII.GetString(one.Rows.Bytes.Span[row.Key])} {row.Row}: "
                        + string.Join(' ', one.Rows.Marks.Span[row.Marks].ToArray()));
                    written.Add(new Written(place, [.. rows]));
                }
                return Task.CompletedTask;
            },
            null, None);
        return (written, partitions);
    }

    private sealed record Written(PartitionPlace Place, List<string> Rows);
}
