using HibpIngest.People;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Integration.Tests.People;

/// <summary>Tests that an address is hidden from the readers that its owner chose, and stays hidden.</summary>
public sealed class OptOutTests
{
    private const string Alias = "ann";
    private const string Domain = "example.com";
    private const string Email = $"{Alias}@{Domain}";
    private const string Other = "bob@example.com";

    private static readonly string[] Everyone =
    [
        "breachedaccount", "breacheddomain", "domain CSV", "domain mail", "domain page", "hibp lookup", "own mail", "range", "search",
        "welcome",
    ];

    [Theory]
    [InlineData(OptOutLevel.Public, "breacheddomain", "domain CSV", "domain mail", "domain page", "own mail", "welcome")]
    [InlineData(OptOutLevel.All)]
    public async Task Address_is_seen_only_by_those_from_whom_it_is_not_hidden(OptOutLevel level, params string[] expected)
    {
        await using var rig = await StartAsync(options => options.Upsert.Ranges = RangesMode.On);
        await rig.Pipeline.ImportAsync((Email, null), ("boss@example.org", Domain));
        await rig.DropAsync("First", Email, Other);
        Assert.Equal(Everyone, await SeenByAsync(rig, "Second"));

        await SetAsync(rig, level);
        Assert.Equal(expected, await SeenByAsync(rig, "Third"));
        // Another address is not affected.
        Assert.Single(await rig.Pipeline.FindAsync(Other), breach => breach.Name == "First");

        await SetAsync(rig, OptOutLevel.None);
        await rig.Context.Get<SubscriberOperations>().AddAsync([new(Email, null)], again: true, None);
        Assert.Equal(Everyone, await SeenByAsync(rig, "Fourth"));
    }

    [Fact]
    public async Task Address_stays_hidden_after_removals_backfills_and_rebuilds()
    {
        await using var rig = await StartAsync(options => options.Upsert.Ranges = RangesMode.Off);
        await rig.DropAsync("First", Email, Other);
        await SetAsync(rig, OptOutLevel.Public);
        await rig.Context.Get<RemoveBreach>().RunAsync("First", null, None);
        await rig.DropAsync("Second", Email, Other);
        Assert.Empty(await rig.Pipeline.FindAsync(Email));

        await rig.Context.Get<FillRanges>().RunAsync(null, null, None);
        Assert.Equal(["breacheddomain", "domain CSV", "domain page", "welcome"], await SeenByAsync(rig));

        await rig.Context.Get<RebuildLayout>().RunAsync(
            new RebuildOrder("wide") { SpreadDomains = new Dictionary<string, int> { [Domain] = 3 } }, null, None);
        await rig.Context.Get<LayoutOperations>().SwitchAsync("wide", false, None);
        Assert.Equal(["breacheddomain", "domain CSV", "domain page", "welcome"], await SeenByAsync(rig));
        // A change reaches every layout that is written.
        await SetAsync(rig, OptOutLevel.None);
        await rig.Context.Get<LayoutOperations>().SwitchAsync(StoreLayout.First.Name, false, None);
        Assert.Single(await rig.Pipeline.FindAsync(Email));
    }

    [Theory]
    [InlineData("public", "Hide your address from the public", OptOutLevel.Public)]
    [InlineData("all", "Hide your address from all", OptOutLevel.All)]
    public async Task Person_hides_an_address_by_a_link_in_a_mail(string from, string title, OptOutLevel expected)
    {
        await using var rig = await StartAsync();
        await using var web = await rig.StartWebAsync();
        await rig.DropAsync("First", Email, Other);
        await rig.SubmitAsync(web, "/optout", $"email={Email}&from={from}", "Check your mail");
        var mail = rig.LastMail();
        Assert.Equal("Confirm that you want your address hidden", mail.Subject);
        Assert.Equal(expected == OptOutLevel.All, mail.TextBody!.Contains("gets no more mails", StringComparison.Ordinal));
        var link = PeopleRig.LinkIn(mail, "optout/confirm");
        Assert.Contains($"<h1>{title}</h1>", (await web.GetAsync(link)).Text, StringComparison.Ordinal);
        await rig.RunToEndAsync();
        Assert.Single(await rig.Pipeline.FindAsync(Email));

        await rig.SubmitAsync(web, link, "", "Your address is hidden");
        Assert.Empty(await rig.Pipeline.FindAsync(Email));
        Assert.Equal(
            [new OptOut(new Account(Alias, Domain), expected)], await rig.Context.Register.ListOptOutsAsync(None).ToListAsync(None));
        // The link of one level can't be used for another, or to subscribe.
        foreach (var kind in (CommandKind[])[CommandKind.Verify, CommandKind.Unsubscribe])
            await rig.HandleAsync(rig.Follow(kind, link));
        await rig.HandleAsync(rig.Follow(CommandKind.OptOut, link) with
        {
            Level = expected == OptOutLevel.All ? OptOutLevel.Public : OptOutLevel.All,
        });
        Assert.Equal(expected, await rig.Context.Register.GetOptOutAsync(new Account(Alias, Domain), None));
        Assert.Empty(await rig.SubscribersAsync());
    }

    [Fact]
    public async Task Repeated_opt_out_after_a_crash_completes_it()
    {
        await using var rig = await StartAsync();
        await rig.Pipeline.ImportAsync((Email, null));
        await rig.HandleAsync(rig.Subscribe(Email) with { Kind = CommandKind.RequestOptOut, Level = OptOutLevel.All });
        var confirm = rig.Follow(CommandKind.OptOut, PeopleRig.LinkIn(rig.LastMail(), "optout/confirm")) with { Level = OptOutLevel.All };
        // The state that a process leaves if it dies right after writing the register's entry.
        await rig.Context.Register.PutOptOutAsync(new OptOut(new Account(Alias, Domain), OptOutLevel.All), None);
        await rig.HandleAsync(confirm);
        await rig.HandleAsync(confirm);
        await rig.DropAsync("First", Email, Other);
        Assert.Empty(await rig.Pipeline.FindAsync(Email));
        Assert.Empty(await rig.SubscribersAsync());
    }

    [Fact]
    public async Task Address_hidden_from_all_is_never_mailed()
    {
        await using var rig = await StartAsync();
        await rig.HandleAsync(rig.Subscribe(Email));
        var verify = rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(rig.LastMail(), "verify"));
        await SetAsync(rig, OptOutLevel.All);
        await rig.HandleAsync(verify);
        await rig.HandleAsync(rig.Subscribe(Email, "another network"));
        await rig.HandleAsync(rig.Subscribe(Email, "a third one") with { Kind = CommandKind.RequestOptOut, Level = OptOutLevel.Public });
        await rig.DropAsync("First", Email, Other);
        Assert.Single(rig.Mails());
        Assert.Empty(await rig.SubscribersAsync());
    }

    private static Task SetAsync(PeopleRig rig, OptOutLevel level) =>
        rig.Context.Get<OptOutOperations>().SetAsync(new OptOut(new Account(Alias, Domain), level), None);

    /// <summary>Asks every reader, and returns those that show the address.</summary>
    /// <param name="drop">A breach to drop, whose mails are read; null: none is dropped.</param>
    private static async Task<IReadOnlyList<string>> SeenByAsync(PeopleRig rig, string? drop = null)
    {
        var seen = new SortedSet<string>(StringComparer.Ordinal);
        void Add(string reader, bool shows)
        {
            if (shows)
                seen.Add(reader);
        }

        if (drop is not null)
        {
            var before = rig.Mails().Count;
            await rig.DropAsync(drop, Email, Other);
            foreach (var (to, mail) in rig.Mails().Skip(before))
            {
                if (to == Email)
                    seen.Add("own mail");
                else
                {
                    Add("domain mail", mail.BodyParts.OfType<MimeKit.MimePart>().Any(
                        part => part.Text.Contains(Email, StringComparison.Ordinal)));
                }
            }
        }
        // A fresh one, because a running one shows a change only after some seconds.
        await using var web = await rig.StartWebAsync();
        var hash = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(Email)));
        var key = await web.AddKeyAsync($"key {Guid.NewGuid():N}", KeyScopes.Search | KeyScopes.Range | KeyScopes.Domains, domains: Domain);
        Add("breachedaccount", (await web.GetAsync($"/api/v3/breachedaccount/{Email}", key)).Status == 200);
        var owned = await web.GetAsync($"/api/v3/breacheddomain/{Domain}", key);
        Add("breacheddomain", owned.Text.Contains($"\"{Alias}\"", StringComparison.Ordinal));
        var (secret, row) = SignIn.Create(Domain, rig.Pipeline.Time.GetUtcNow());
        await rig.Context.SignIns.AddAsync(row, None);
        var cookie = ("Cookie", (await web.PostFormAsync($"/domains/open?t={secret}", "")).Header("Set-Cookie").Split(';')[0]);
        Add("domain page", (await web.GetAsync("/domains/accounts", headers: cookie)).Text.Contains(Email, StringComparison.Ordinal));
        Add("domain CSV", (await web.GetAsync("/domains/accounts.csv", headers: cookie)).Text.Contains(Email, StringComparison.Ordinal));
        if ((await web.GetAsync($"/api/v3/breachedaccount/range/{hash[..6]}", key)) is { Status: 200 } range)
            Add("range", range.Text.Contains(hash[6..], StringComparison.OrdinalIgnoreCase));
        var search = await web.GetAsync(
            $"/search/range/{hash[..6]}", headers: [("Sec-Fetch-Site", "same-origin"), await web.GetTicketAsync()]);
        Add("search", search.Text.Contains(hash[6..], StringComparison.Ordinal));
        Add("hibp lookup", (await rig.Pipeline.FindAsync(Email)).Count > 0);
        var mails = rig.Mails().Count;
        await rig.Context.Get<PersonMails>().SendWelcomeAsync(rig.Subscribe(Email), new MailDue(Guid.NewGuid(), Email), null, None);
        Assert.Equal(mails + 1, rig.Mails().Count);
        Add("welcome", rig.LastMail().Subject != "You are subscribed to breach notifications");
        return [.. seen];
    }

    private static async Task<PeopleRig> StartAsync(Action<TestOptions>? configure = null) =>
        PeopleRig.Over(await PipelineRig.StartAsync(configure));
}
