using System.IO.Compression;
using HibpIngest.Cli.Samples;

namespace HibpIngest.Tests.Samples;

public sealed class SampleBreachTests
{
    private static readonly SampleOptions Contoso = new() { Accounts = 5_000, Seed = 2025 };

    [Fact]
    public void A_sample_holds_exactly_its_seeds_accounts_with_duplicates_and_every_kind_of_junk()
    {
        var (accounts, counts, text) = Read(Make(new SampleOptions { Accounts = 60_000, Seed = 7 }));
        var accountsOfSeed = new SampleAccounts(7);
        var expected = Enumerable.Range(0, 60_000).Select(i => accountsOfSeed[i]).ToList();
        Assert.Equal(60_000, expected.Distinct().Count());
        Assert.Equal(expected.Order(), accounts.Distinct().Order());

        Assert.InRange(accounts.Count, 60_000 * 1.04, 60_000 * 1.06);
        Assert.All(counts, count => Assert.True(count > 0));
        Assert.InRange(expected.Count(account => account.EndsWith("@gmail.com")), 60_000 * .25, 60_000 * .33);
        Assert.True(expected.Select(account => account.Split('@')[1]).Distinct().Count() > 4_000);
        Assert.Contains("@GMAIL.COM", text);
        Assert.Contains(@"contact:\n", text);
        Assert.Contains("logo@2x.png", text);
        Assert.Contains("\"\"Pit\"\"", text);
        Assert.True(text.Split('\n').Max(line => line.Length) > 300_000);
    }

    [Fact]
    public void A_sample_shares_exactly_the_requested_part_with_another_one()
    {
        var first = Read(Make(new SampleOptions { Accounts = 20_000, Seed = 1 })).Accounts.ToHashSet();
        var second =
            Read(Make(new SampleOptions { Accounts = 20_000, Seed = 2, OverlapPercent = 20, OverlapSeed = 1 })).Accounts.ToHashSet();
        Assert.Equal((20_000, 20_000), (first.Count, second.Count));
        Assert.Equal(4_000, second.Count(first.Contains));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(10)]
    public void Small_samples_have_the_requested_number_of_accounts(int accounts) =>
        Assert.Equal(accounts, Read(Make(new SampleOptions { Accounts = accounts })).Accounts.Distinct().Count());

    [Fact]
    public void A_seed_makes_the_same_text_on_every_machine()
    {
        var text = Read(Make(Contoso)).Text;
        Assert.Equal(
            "24835d7ea4b212ea0a0b20473553a818ddbab527874330d79e5cf79243e61786", Convert.ToHexStringLower(
                SHA256.HashData(Encoding.Latin1.GetBytes(text))));
    }

    [Fact]
    public void Write_stops_on_cancellation() =>
        Assert.Throws<OperationCanceledException>(() => SampleBreach.Write(Stream.Null, Contoso, new CancellationToken(canceled: true)));

    [Fact]
    public void The_repositorys_sample_matches_the_generator()
    {
        Assert.Equal(Read(Make(Contoso)).Text, Read(File.ReadAllBytes(RepositoryFile.Path("samples/Contoso.zip"))).Text);
        var metadata = BreachMetadata.Parse(File.ReadAllBytes(RepositoryFile.Path("samples/Contoso.json")));
        Assert.Equal(("Contoso", new DateOnly(2024, 11, 3)), (metadata.Title, metadata.BreachDate));
    }

    [Fact]
    public void The_repositorys_subscribers_match_some_accounts_and_domains_of_the_sample()
    {
        var accounts = Read(File.ReadAllBytes(RepositoryFile.Path("samples/Contoso.zip"))).Accounts.ToHashSet();
        var domains = accounts.Select(account => account.Split('@')[1]).ToHashSet();
        var lines = File.ReadAllLines(RepositoryFile.Path("samples/subscribers.csv"));
        Assert.Equal("email,domain", lines[0]);
        var rows = lines[1..].Select(line => line.Split(',')).ToList();
        Assert.All(rows, row => Assert.True(AccountRules.TryParse(row[0], out _, out _)));
        var individuals = rows.Where(row => row[1].Length == 0).ToList();
        Assert.Equal(20, individuals.Count(row => accounts.Contains(row[0].ToLowerInvariant())));
        Assert.Equal(5, individuals.Count(row => !accounts.Contains(row[0].ToLowerInvariant())));
        Assert.Equal(4, rows.Count(row => row[1].Length > 0 && domains.Contains(row[1])));
        Assert.Equal(1, rows.Count(row => row[1].Length > 0 && !domains.Contains(row[1])));
    }

    private static byte[] Make(SampleOptions options)
    {
        using var zip = new MemoryStream();
        SampleBreach.Write(zip, options, CancellationToken.None);
        return zip.ToArray();
    }

    /// <summary>
    /// Returns all accounts of a zip as the scanner finds them, the counts of broken rules, and the text, one
    /// character per byte.
    /// </summary>
    private static (List<string> Accounts, long[] Counts, string Text) Read(byte[] zip)
    {
        using var archive = new ZipArchive(new MemoryStream(zip));
        var texts = archive.Entries.Select(entry => new StreamReader(entry.Open(), Encoding.Latin1, false).ReadToEnd()).ToList();
        var scanned = texts.ConvertAll(text => CollectingSink.Scan(Encoding.Latin1.GetBytes(text)));
        long[] counts = [.. Enum.GetValues<AccountRule>().Select(rule => scanned.Sum(one => one.Broken[(int)rule]))];
        return ([.. scanned.SelectMany(one => one.Accounts)], counts, string.Concat(texts));
    }
}
