using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Tests.Upsert;

public sealed class SliceBuffersTests
{
    private const int Rows = 10_000;

    private static readonly LayoutFacts[] Facts =
    [
        new(),
        new()
        {
            AccountsTable = "accounts2",
            RangesTable = "ranges2",
            StorageAccounts = [2, 3, 4, 1],
            SpreadDomains = new Dictionary<string, int> { ["gmail.com"] = 32, ["yahoo.com"] = 3 },
        },
        new()
        {
            AccountsTable = "accounts3",
            RangesTable = "ranges3",
            StorageAccounts = [5],
            SpreadDomains = new Dictionary<string, int> { ["gmail.com"] = 256 },
        },
    ];

    [Fact]
    public void Each_account_is_once_in_each_layout_at_its_documented_place()
    {
        var rows = Fill(20251122, out var expected);
        var transactions = Read(rows, Layouts());
        Assert.Equal(expected.Count, rows.Entities);
        Assert.All(transactions, one => Assert.InRange(one.Keys.Count, 1, IAccountTable.MaxTransactionEntities));
        for (var layout = 0; layout < Facts.Length; layout++)
        {
            var facts = Facts[layout];
            var accounts =
                from one in transactions
                where one.Layout == layout && !one.OfRanges
                from key in one.Keys
                select (new PartitionPlace(one.Partition, one.StorageAccount), key);
            Assert.Equal(
                expected.Select(account => (PlacementReference.Find(facts, account.Alias, account.Domain), account.Alias)).Order(ByText),
                accounts.Order(ByText));
            var hashes =
                from one in transactions
                where one.Layout == layout && one.OfRanges
                from key in one.Keys
                select (one.StorageAccount, Hash: one.Partition + key);
            var expectedHashes =
                from account in expected
                let hash = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes($"{account.Alias}@{account.Domain}")))
                where layout != 2 // has no ranges
                select (PlacementReference.OfHash(facts, hash), hash);
            Assert.Equal(expectedHashes.Order(), hashes.Order());
        }
        SliceBuffers.Return(rows);
    }

    [Fact]
    public void Transaction_order_does_not_depend_on_earlier_buffer_contents()
    {
        var rows = Fill(1, out _);
        var order = Shown(Read(rows, Layouts()));
        _ = Read(rows, [.. Layouts().Reverse()]);
        Assert.Equal(order, Shown(Read(rows, Layouts())));
        rows.Accounts.Clear();
        Fill(2, rows, []);
        _ = Read(rows, Layouts());
        rows.Accounts.Clear();
        Fill(1, rows, []);
        Assert.Equal(order, Shown(Read(rows, Layouts())));
        SliceBuffers.Return(rows);

        static string Shown(IEnumerable<Written> transactions) => string.Join('\n', transactions.Select(
            one => $"{one.Layout} {one.OfRanges} {one.StorageAccount} {one.Partition} {string.Join(' ', one.Keys)}"));
    }

    [Fact]
    public void Accounts_of_a_partition_are_sorted_as_bytes()
    {
        var rows = Fill(20251122, out var expected);
        // Of different lengths, and equal in their first bytes.
        expected.UnionWith(
            ((string[])["z", "zz", "zzzz", "zzzzz", "zzzzzz", "zzzzzzzzzz-1", "zzzz+", "zzzz_"]).Select(alias => (alias, "short.example")));
        rows.Accounts.Clear();
        foreach (var (alias, domain) in expected.OrderBy(_ => Random.Shared.Next()))
            rows.Accounts.Add(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain));
        var transactions = Read(rows, [Layouts()[0]]).Where(one => !one.OfRanges).ToLookup(one => one.Partition);
        foreach (var domain in expected.ToLookup(account => account.Domain, account => account.Alias))
        {
            Assert.Equal(
                domain.Order(StringComparer.Ordinal),
                transactions[domain.Key].OrderBy(one => one.Keys[0], StringComparer.Ordinal).SelectMany(one => one.Keys));
        }
        SliceBuffers.Return(rows);
    }

    [Fact]
    public void Transactions_of_each_layout_are_spread_evenly()
    {
        var rows = Fill(20251122, out _);
        var transactions = Read(rows, Layouts());
        foreach (var group in transactions.GroupBy(one => (one.Layout, one.OfRanges)))
        {
            // Every prefix contains each layout's share, within a few transactions.
            var soFar = 0;
            for (var i = 0; i < transactions.Count; i++)
            {
                soFar += (transactions[i].Layout, transactions[i].OfRanges) == group.Key ? 1 : 0;
                Assert.InRange(soFar - ((i + 1.0) * group.Count() / transactions.Count), -25, 25);
            }
        }
        SliceBuffers.Return(rows);
    }

    [Fact]
    public void Grouping_allocates_nothing_per_account_or_transaction()
    {
        var rows = Fill(1, out _);
        var layouts = Layouts();
        var count = rows.Group(layouts);
        var keys = 0;
        var allocated = Allocations.Of(() =>
        {
            if (rows.Group(layouts) != count)
                throw new InvalidOperationException("another number of transactions");
            keys = 0;
            for (var i = 0; i < count; i++)
                keys += rows.Transaction(i).Rows.Length;
        });
        Assert.InRange(allocated, 0, 1_000); // the comparison, allocated once
        Assert.True(keys > 4 * rows.Entities);
        SliceBuffers.Return(rows);
    }

    private static SliceLayout[] Layouts() =>
        [.. Facts.Select((facts, i) => new SliceLayout(new LayoutPlacement(facts), WithRanges: i < 2))];

    private static IComparer<(PartitionPlace, string)> ByText { get; } =
        Comparer<(PartitionPlace, string)>.Create((left, right) => string.CompareOrdinal($"{left}", $"{right}"));

    private static SliceBuffers Fill(int seed, out HashSet<(string Alias, string Domain)> expected)
    {
        var rows = SliceBuffers.Rent(Rows);
        Fill(seed, rows, expected = []);
        return rows;
    }

    private static void Fill(int seed, SliceBuffers rows, HashSet<(string Alias, string Domain)> expected)
    {
        var random = new Random(seed);
        for (var i = 0; i < Rows; i++)
        {
            var (alias, domain) = ($"user{random.Next(9_000)}", random.Next(6) switch
            {
                0 or 1 => "gmail.com",
                2 => "yahoo.com",
                3 => "gmail.com.example",
                _ => $"d{random.Next(2_000)}.example.org",
            });
            expected.Add((alias, domain));
            rows.Accounts.Add(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain));
        }
    }

    private static List<Written> Read(SliceBuffers rows, IReadOnlyList<SliceLayout> layouts) =>
        [.. Enumerable.Range(0, rows.Group(layouts)).Select(rows.Transaction).Select(one => new Written(
            one.Layout, one.OfRanges, one.StorageAccount, Encoding.ASCII.GetString(one.Partition.Span),
            [.. one.Rows.ToArray().Select(row => Encoding.ASCII.GetString(one.Bytes.Span[row]))]))];

    private sealed record Written(int Layout, bool OfRanges, int StorageAccount, string Partition, List<string> Keys);
}
