namespace HibpIngest.Tests.Accounts;

public sealed class LayoutPlacementTests
{
    [Fact]
    public void Placements_match_the_documented_vectors()
    {
        // | `alias@domain` | partitions | storage accounts | `hash of the alias` | `hash of the domain` | `partition key` | place |
        var vectors = Patterns.Find(
            DocumentFiles.Read("docs/tables.md"),
            @"^\| `[^`@]+@[^`]+` \| \d+ \| \d+ \| `[0-9A-F]{8}` \| `[0-9A-F]{8}` \| `[^`]+` \| \d+ \|").ToList();
        Assert.Equal(7, vectors.Count);
        Assert.All(vectors, row =>
        {
            var vector = row.Split(['|', ' ', '`', '@'], StringSplitOptions.RemoveEmptyEntries);
            var (alias, domain, partitions, accounts) = (vector[0], vector[1], int.Parse(vector[2]), int.Parse(vector[3]));
            Assert.Equal(vector[4], PlacementReference.Hash(alias).ToString("X8", CultureInfo.InvariantCulture));
            Assert.Equal(vector[5], PlacementReference.Hash(domain).ToString("X8", CultureInfo.InvariantCulture));
            var placement = new LayoutPlacement(Facts(accounts, partitions > 1 ? [(domain, partitions)] : []));
            Assert.Equal(new PartitionPlace(vector[6], 101 + int.Parse(vector[7])), placement.Find(new Account(alias, domain)));
        });
        Assert.Equal(0xE3069283u, PlacementReference.Hash("123456789")); // the published check value of CRC-32C
    }

    [Fact]
    public void Placements_match_the_reference_and_balance_storage_accounts()
    {
        const int Seed = 20251122;
        var random = new Random(Seed);
        for (var i = 0; i < 2_000; i++)
        {
            var (accounts, partitions) = (random.Next(1, 33), random.Next(1, 257));
            (string, int)[] spread = [.. Enumerable.Range(0, random.Next(20)).Select(other => ($"other{other}.example", 9))];
            if (partitions > 1)
                spread = [.. spread, ("large.example", partitions)];
            var facts = Facts(accounts, spread);
            var placement = new LayoutPlacement(facts);
            var alias = new string(random.GetItems<char>("abcxyz0189.+-_", random.Next(1, 65)));
            var place = placement.Find(new Account(alias, "large.example"));
            Assert.True(PlacementReference.Find(facts, alias, "large.example") == place, $"seed {Seed}, round {i}");
            var all = placement.FindAll("large.example");
            Assert.Equal(partitions, all.Distinct().Count());
            Assert.Contains(place, all);
            Assert.Equal(all.Select(one => one.Partition).Order(StringComparer.Ordinal), all.Select(one => one.Partition));
            Assert.All(all, one => Assert.Equal("large.example", LayoutPlacement.DomainOf(one.Partition)));
            // Partitions are assigned round-robin: the counts of two storage accounts differ by at most one.
            var counts = all.GroupBy(one => one.StorageAccount).Select(one => one.Count()).ToList();
            Assert.InRange(counts.Max() - (counts.Count < accounts ? 0 : counts.Min()), 0, 1);
            var range = random.Next(256);
            Assert.Equal(facts.StorageAccounts[range % accounts], placement.StorageAccountOfRange(range));
        }
    }

    [Theory]
    [InlineData(8)]
    [InlineData(32)]
    [InlineData(250)]
    public void Numbered_aliases_and_domains_are_spread_evenly(int partitions)
    {
        const int Each = 1_000;
        var placement = new LayoutPlacement(Facts(10, [("large.example", partitions)]));
        var counts = new int[partitions];
        for (var i = 0; i < Each * partitions; i++)
            counts[LayoutPlacement.BucketOf(Encoding.ASCII.GetBytes($"user{i:0000000}"), partitions)]++;
        Assert.All(counts, count => Assert.InRange(count, Each * 8 / 10, Each * 12 / 10));
        var accounts = Enumerable.Range(0, 10_000).GroupBy(i => placement.Find(new Account("a", $"d{i}.example.org")).StorageAccount);
        Assert.All(accounts, account => Assert.InRange(account.Count(), 800, 1_200));
    }

    [Fact]
    public void Finding_a_place_allocates_nothing()
    {
        var placement = new LayoutPlacement(Facts(4, [("large.example", 8), ("other.example", 3)]));
        var key = new byte[64];
        var total = Find();
        Assert.Equal(0, Allocations.Of(() =>
        {
            for (var i = 0; i < 100; i++)
                total += Find();
        }));
        Assert.True(total > 0);

        int Find()
        {
            var bucket = LayoutPlacement.BucketOf("somebody"u8, placement.PartitionsOf("large.example"u8));
            return LayoutPlacement.WritePartition("large.example"u8, bucket, key) + placement.StorageAccountOf("large.example"u8, bucket)
                + placement.PartitionsOf("small.example"u8);
        }
    }

    [Fact]
    public void Invalid_layout_facts_are_rejected()
    {
        Assert.Null(new LayoutFacts().FindFault());
        LayoutFacts[] faulty =
        [
            new() { AccountsTable = "accounts-2" }, new() { AccountsTable = "ranges" }, new() { RangesTable = "r" },
            new() { RangesTable = new string('r', 64) }, new() { StorageAccounts = [] }, new() { StorageAccounts = [0] },
            new() { StorageAccounts = [1, 1] }, new() { StorageAccounts = [.. Enumerable.Range(1, 33)] },
            Facts(1, [("gmail.com", 1)]), Facts(1, [("gmail.com", 257)]),
        ];
        Assert.All(faulty, facts => Assert.Contains("expected", facts.FindFault(), StringComparison.Ordinal));
        var set = new LayoutSet(3, [new StoreLayout { Id = 1, Ranges = RangesState.On }, new StoreLayout
        {
            Id = 2,
            Ranges = RangesState.On,
            Facts = faulty[0],
        }]);
        Assert.Contains("use the newer program", Assert.Throws<StoreMismatchException>(set.RequireKnown).Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("""{"AccountsTable":"accounts","Shards":4}""")]
    [InlineData("null")]
    [InlineData("accounts")]
    public void Parse_rejects_unknown_fields_and_malformed_facts(string json) =>
        Assert.Throws<StoreMismatchException>(() => LayoutFacts.Parse(json));

    [Fact]
    public void Facts_round_trip_and_those_of_earlier_versions_are_read()
    {
        var facts = Facts(3, [("gmail.com", 32), ("yahoo.com", 8)]) with { AccountsTable = "accounts2" };
        Assert.Equal(facts, LayoutFacts.Parse(facts.ToJson()));
        // As written by earlier versions.
        Assert.Equal(new LayoutFacts(), LayoutFacts.Parse(
            """{"AccountsTable":"accounts","RangesTable":"ranges","StorageAccounts":[1],"SpreadDomains":{}}"""));
    }

    /// <summary>Numbers storage accounts from 101, so that a number isn't mistaken for an index.</summary>
    private static LayoutFacts Facts(int accounts, (string Domain, int Partitions)[] spread) => new()
    {
        StorageAccounts = [.. Enumerable.Range(101, accounts)],
        SpreadDomains = spread.ToDictionary(one => one.Domain, one => one.Partitions),
    };
}
