using HibpIngest.Cli.Emulator;

namespace HibpIngest.Testing;

/// <summary>
/// Loads two breaches, which share a fifth of the first one's accounts, through two hosts at once, using only the
/// command line. Expected values come from a separate script, and the table is read over bare HTTP. A database
/// provider joins by naming its database.
/// </summary>
public abstract class AcceptanceContract
{
    // A small count finds the same faults; HIBP_TEST_ACCOUNTS=250000 takes some minutes, mostly in the emulator.
    private static readonly int Accounts = int.Parse(
        Environment.GetEnvironmentVariable("HIBP_TEST_ACCOUNTS") ?? "1500", System.Globalization.CultureInfo.InvariantCulture);

    /// <summary>Returns the value of <c>--database</c>: an empty database of the test's own.</summary>
    protected abstract string Database(string folder);

    [Fact]
    public async Task Two_breaches_store_exactly_their_accounts_and_send_exactly_their_mails()
    {
        using var folder = new TemporaryFolder();
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = emulator.ConnectionString,
            ["HIBP_DATABASE"] = Database(folder.Path),
            ["HIBP_MAIL"] = $"pickup:{File("mail")}",
            ["HIBP_MAILSPERSECOND"] = "1000",
            // Several batches of several slices even with few accounts.
            ["HIBP_BATCHROWS"] = "600",
            ["HIBP_SLICEROWS"] = "300",
        };
        string File(string name) => Path.Combine(folder.Path, name);
        Task<HibpResult> HibpAsync(params string[] arguments) => HibpInProcess.RunAsync(folder.Path, variables, arguments);

        (await HibpAsync("sample", "--accounts", $"{Accounts}", "--seed", "7", File("First.zip"))).Succeeded();
        (await HibpAsync(
            "sample", "--accounts", $"{Accounts}", "--seed", "8", "--overlap", "20", "--overlap-seed", "7", File("Second.zip")))
            .Succeeded();
        var first = await ExtractAsync(File("First.zip"));
        var second = await ExtractAsync(File("Second.zip"));
        Assert.Equal(Accounts, first.Count);
        Assert.Equal(Accounts, second.Count);
        var shared = first.Intersect(second).Count();
        Assert.InRange(shared, Accounts / 5, (Accounts / 5) + 100); // random rows add a few to the shared ones

        var (people, domains) = ChooseSubscribers(first, second);
        await System.IO.File.WriteAllLinesAsync(
            File("subscribers.csv"),
            ["email,domain", .. people.Select(email => $"{email},"), .. domains.Select(domain => $"owner@{domain},{domain}")]);
        (await HibpAsync("subscribers", "import", File("subscribers.csv"))).Succeeded();

        await using (await HibpProcess.StartAsync(folder.Path, variables, "ready", "run"))
        await using (await HibpProcess.StartAsync(folder.Path, variables, "ready", "run"))
        {
            foreach (var name in new[] { "First", "Second" })
            {
                var load = (await HibpAsync("drop", File($"{name}.zip"), "--title", $"Breach {name}", "--verified", "--wait", "--json"))
                    .Succeeded().Json;
                Assert.Equal(("done", Accounts), (load.GetProperty("state").GetString(), load.GetProperty("accounts").GetInt32()));
            }
        }

        var table = await RawTable.ReadAccountsAsync(emulator.ConnectionString, "accounts", first.Union(second));
        Assert.Equal((2 * Accounts) - shared, table.Count);
        foreach (var account in first.Union(second))
        {
            var expected = new[] { (In: first.Contains(account), Property: "b1"), (In: second.Contains(account), Property: "b2") }.Where(
                breach => breach.In).Select(breach => breach.Property);
            Assert.True(table.TryGetValue(account, out var breaches) && breaches.SequenceEqual(expected), "an account does not carry "
                + "exactly its breaches");
        }

        var mails = Directory.GetFiles(File("mail"), "*.eml").Select(file => MailReader.Read(System.IO.File.ReadAllBytes(file)))
            .Select(mail => (To: mail.To.Mailboxes.Single().GetAddress(idnEncode: true), Breach: mail.Subject!.Split(": Breach ")[1]))
            .Order().ToList();
        var due = new[] { ("First", first), ("Second", second) }.SelectMany(breach =>
            people.Where(breach.Item2.Contains).Select(email => (To: email, Breach: breach.Item1))
                .Concat(
                    domains.Where(domain => breach.Item2.Any(account => account.EndsWith("@" + domain, StringComparison.Ordinal))).Select(
                        domain => (To: $"owner@{domain}", Breach: breach.Item1))))
            .Order().ToList();
        Assert.Equal(due, mails);
        Assert.True(due.Count > Accounts / 500);

        var sample = first.First(second.Contains);
        var found = (await HibpAsync("lookup", sample, "--json")).Succeeded().Json;
        Assert.Equal(sample, found.GetProperty("account").GetString());
        Assert.Equal(2, found.GetProperty("breaches").GetArrayLength());
    }

    /// <summary>Chooses every 500th account of each breach, some accounts in neither, and some domains.</summary>
    private static (List<string> People, List<string> Domains) ChooseSubscribers(HashSet<string> first, HashSet<string> second)
    {
        var people = first.Order().Where((_, i) => i % 500 == 0).Concat(second.Order().Where((_, i) => i % 500 == 250)).Concat(
            Enumerable.Range(0, 50).Select(i => $"nobody{i}@example.com"))
            .Distinct().ToList();
        var domains = first.Concat(second).Select(account => account.Split('@')[1]).GroupBy(domain => domain)
            .Where(group => group.Count() is > 3 and < 500)
            .Select(group => group.Key).Order().Where((_, i) => i % 100 == 0).Append("example.com").ToList();
        return (people, domains);
    }

    /// <summary>Extracts the accounts of a zip with a separate script.</summary>
    internal static async Task<HashSet<string>> ExtractAsync(string zip)
    {
        var (accounts, _) = await ExternalProgram.RunScriptAsync("tests/HibpIngest.Testing/EndToEnd/extract-accounts.mjs", zip);
        return [.. accounts.Split('\n', StringSplitOptions.RemoveEmptyEntries)];
    }
}
