using System.Xml.Linq;
using HibpIngest.Cli.Output;
using HibpIngest.Journal.Files;
using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Merge;
using HibpIngest.Journal.Statistics;

namespace HibpIngest.Tests.Journal;

public sealed class MergeTests(ITestOutputHelper output)
{
    private const int SliceRows = 500;
    private static readonly CancellationToken None = CancellationToken.None;

    [Theory]
    [InlineData(1 << 30, 1)]
    [InlineData(150_000, 16)]
    public async Task Merge_returns_each_account_once_with_all_its_loads(long memory, int partitions)
    {
        using var folder = new TemporaryFolder();
        var (loads, log) = await WriteAsync(folder.Path);
        var merged = new Dictionary<string, int[]>();
        var seen = new List<int>();
        var spread = new HashSet<string>();
        var read = new List<long>();
        var rows = await new MergeAccounts(folder.Path, memory).RunAsync(
            [.. loads.Select(load => SegmentSource.Of(log, load.Logged))],
            partition =>
            {
                seen.Add(partition.Count);
                for (var i = 0; i < partition.Count; i++)
                {
                    var account = $"{Text(partition.Alias(i))}@{Text(partition.Domain(i))}";
                    Assert.True(merged.TryAdd(account, [.. LoadsOf(partition, i).Order()]), $"twice: {account}");
                    if (partition.IsSpread(partition.Domain(i)))
                        spread.Add(Text(partition.Domain(i)));
                }
                return Task.CompletedTask;
            },
            new ImmediateProgress<long>(read.Add), None);

        var expected = loads.SelectMany((load, i) => load.Accounts.Distinct().Select(account => (account, i)))
            .GroupBy(one => one.account, one => one.i).ToDictionary(one => one.Key, one => one.Order().ToArray());
        Assert.Equal(expected.Count, merged.Count);
        Assert.All(expected, one => Assert.Equal(one.Value, merged[one.Key]));
        Assert.Equal(loads.Sum(load => load.Accounts.Count), rows);
        Assert.Equal((partitions, rows), (seen.Count, read[^1]));
        Assert.Equal(read.Order(), read);
        // The domain with nearly half of all accounts is spread over all partitions; otherwise one of them would be huge.
        Assert.Equal(partitions == 1 ? [] : ["gmail.com"], spread);
        Assert.True(partitions == 1 || seen.Max() < 3 * seen.Average(), $"{seen.Max()} of {seen.Average()} accounts");
        Assert.Empty(Directory.GetDirectories(folder.Path, "hibp-merge-*"));
    }

    /// <summary>Rows are looked up 64 at a time; the 1,025th domain makes the table of domains grow in the middle of that.</summary>
    [Theory]
    [InlineData(0, 1)]
    [InlineData(1, 1)]
    [InlineData(63, 1)]
    [InlineData(64, 1)]
    [InlineData(65, 2)]
    [InlineData(128, 3)]
    [InlineData(1_500, 1_500)]
    public async Task Accounts_keep_the_order_of_their_rows(int accounts, int domains)
    {
        const int Loads = 2;
        using var folder = new TemporaryFolder();
        var rows = Enumerable.Range(0, accounts).Select(i => $"user{i:0000}@d{i % domains:0000}.example")
            .OrderBy(account => account.Split('@')[1], StringComparer.Ordinal).ThenBy(account => account, StringComparer.Ordinal).ToList();
        var load = new BatchSource(accounts, accounts == 0 ? 0 : 1, Math.Max(accounts, 1), (_, batch, _) =>
        {
            batch.Clear();
            foreach (var account in rows.Select(row => row.Split('@')))
                batch.Add(Encoding.ASCII.GetBytes(account[0]), Encoding.ASCII.GetBytes(account[1]));
            return Task.CompletedTask;
        });
        var merged = new List<string>();
        var count = await new MergeAccounts(folder.Path).RunAsync([.. Enumerable.Repeat(load, Loads)], partition =>
        {
            for (var i = 0; i < partition.Count; i++)
            {
                merged.Add($"{Text(partition.Alias(i))}@{Text(partition.Domain(i))}");
                Assert.Equal([1, 0], LoadsOf(partition, i));
            }
            return Task.CompletedTask;
        }, null, None);
        Assert.Equal(Loads * accounts, count);
        // By domain; the order of domains is that of the batch.
        Assert.Equal(rows, merged.OrderBy(account => account.Split('@')[1], StringComparer.Ordinal));
    }

    [Fact]
    public async Task Merge_spills_to_unnamed_files_and_leaves_nothing_when_aborted()
    {
        using var folder = new TemporaryFolder();
        var (loads, log) = await WriteAsync(folder.Path);
        await Assert.ThrowsAsync<InvalidOperationException>(() => new MergeAccounts(folder.Path).RunAsync(
            [.. loads.Select(load => SegmentSource.Of(log, load.Logged))],
            _ =>
            {
                var spills = Assert.Single(Directory.GetDirectories(folder.Path, "hibp-merge-*"));
                if (!OperatingSystem.IsWindows())
                    Assert.Empty(Directory.GetFiles(spills));
                throw new InvalidOperationException("stop");
            },
            null, None));
        Assert.Empty(Directory.GetDirectories(folder.Path, "hibp-merge-*"));
    }

    [Theory]
    [InlineData(1 << 30)]
    [InlineData(150_000)]
    public async Task Statistics_match_a_computation_with_in_memory_sets(long memory)
    {
        using var folder = new TemporaryFolder();
        var (loads, log) = await WriteAsync(folder.Path);
        var figures = await JournalStatistics.CountAsync(
            log, new MergeAccounts(folder.Path, memory), [.. loads.Select(load => load.Logged)], domains: 5, null, None);

        var breaches = loads.GroupBy(load => load.Logged.Document!.Breach, load => load.Accounts)
            .ToDictionary(of => of.Key, of => (Rows: of.Sum(accounts => (long)accounts.Count), Set: of.SelectMany(one => one).ToHashSet()));
        var all = breaches.Values.SelectMany(breach => breach.Set).ToHashSet();
        Assert.Equal((all.Count, loads.Sum(load => load.Accounts.Count)), (figures.Accounts, figures.Rows));
        Assert.Equal(
            breaches.Select(breach => new BreachFigures(breach.Key, breach.Value.Rows, breach.Value.Set.Count))
                .OrderByDescending(breach => breach.Accounts), figures.Breaches);
        Assert.Equal(all.Count(account => breaches.Values.Count(breach => breach.Set.Contains(account)) > 1), figures.AccountsInSeveral);
        var byDomain = all.GroupBy(account => account.Split('@')[1]).Select(of => new DomainFigures(of.Key, of.Count())).ToList();
        Assert.Equal(byDomain.Count, figures.Domains);
        Assert.Equal(
            byDomain.Select(domain => domain.Accounts).OrderDescending().Take(5), figures.LargestDomains.Select(domain => domain.Accounts));
        Assert.All(figures.LargestDomains, domain => Assert.Contains(domain, byDomain));
        var names = figures.Breaches.Select(breach => breach.Name).ToList();
        var overlaps =
            from one in names
            from other in names
            where string.CompareOrdinal(one, other) < 0
            select (one, other, Accounts: (long)breaches[one].Set.Intersect(breaches[other].Set).Count());
        Assert.Equal(
            overlaps.Where(pair => pair.Accounts > 0).Select(pair => (pair.one + pair.other, pair.Accounts)).Order(),
            figures.Overlaps.Select(pair => (string.Concat(new[] { pair.One, pair.Other }.Order(StringComparer.Ordinal)), pair.Accounts))
                .Order());

        var drawing = XDocument.Parse(StatsDrawing.Draw(figures with
        {
            Breaches = [.. figures.Breaches, new BreachFigures("<script>&", 1, 1)],
        }));
        XNamespace svg = "http://www.w3.org/2000/svg";
        Assert.Equal(4 + 5 + figures.Overlaps.Count, drawing.Descendants(svg + "rect").Count() - 1);
        Assert.Contains(drawing.Descendants(svg + "text"), text => text.Value == "<script>&");
    }

    /// <summary>Writes three loads of two breaches and one of a third, with shared accounts, a duplicate, and a large domain.</summary>
    private async Task<(List<(JournaledLoad Logged, List<string> Accounts)> Loads, FolderJournal Log)> WriteAsync(string folder)
    {
        var seed = Environment.TickCount;
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var log = new FolderJournal(Path.Combine(folder, "log"));
        await log.CreateAsync(None);
        var loads = new List<(JournaledLoad, List<string>)>();
        string[] breaches = ["Adobe", "Adobe", "Bold", "Cash"];
        for (var load = 1; load <= breaches.Length; load++)
        {
            var accounts = Enumerable.Range(0, 4_000).Select(_ =>
            {
                var domain = random.Next(5) < 2 ? "gmail.com" : $"d{random.Next(300)}.example.org";
                return $"user{random.Next(3_000)}@{domain}";
            }).ToList();
            loads.Add((await WriteAsync(log, load, breaches[load - 1], accounts), accounts));
        }
        return (loads, log);
    }

    private static async Task<JournaledLoad> WriteAsync(FolderJournal log, long load, string breach, List<string> accounts)
    {
        var folder = $"{load:D10}-0123456789abcdef/";
        var rows = accounts.Select(account => account.Split('@')).Select(parts => (Domain: parts[1], Alias: parts[0])).ToList();
        var facts = SegmentSamples.Facts(1, rows.Count, SliceRows) with { Load = new(load), Mark = (int)load, Breach = breach };
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, SliceRows, facts: facts);
        Assert.True(await log.UploadAsync(JournalNames.Segment(folder, 1), new MemoryStream(bytes), None));
        var document = RecoveryPlanTests.Document(load, breach) with
        {
            Rows = rows.Count,
            Accounts = rows.Count,
            Segments = [new DocumentSegment(1, rows.Count, bytes.Length)],
        };
        Assert.True(await log.WriteAsync(folder + JournalNames.Load, document.ToJson(), None));
        return (await JournalManifest.FindAsync(log, folder, None))!;
    }

    private static List<int> LoadsOf(MergedPartition partition, int account)
    {
        var loads = new List<int>();
        foreach (var load in partition.Loads(account))
            loads.Add(load);
        return loads;
    }

    private static string Text(ReadOnlySpan<byte> bytes) => Encoding.ASCII.GetString(bytes);
}
