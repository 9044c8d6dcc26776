using Microsoft.Playwright;

namespace HibpIngest.Integration.Tests.Pages;

/// <summary>Tests the pages in a browser, as people use them: one browser for all tests, and a fresh profile for each.</summary>
public sealed class BrowserTests(SiteFixture site, BrowserFixture browser) : IClassFixture<SiteFixture>, IClassFixture<BrowserFixture>
{
    private static readonly string[] Pages =
    [
        "/", "/breaches", "/breach/Alpha", "/breach/Hostile", "/subscribe", "/optout", "/domains", "/privacy", "/nothing",
        $"/verify?t={LinkTokens.Parse(PeopleRig.Key)!.Create(LinkPurpose.Verify, Guid.NewGuid())}",
    ];

    private string Address => site.Web.Address.AbsoluteUri.TrimEnd('/');

    [BrowserFact]
    public async Task Search_by_keyboard_finds_an_address_and_sends_six_digits_of_its_hash()
    {
        await using var visit = await browser.VisitAsync(Address);
        await visit.TabToAsync("email");
        await visit.Page.Keyboard.TypeAsync($" {SiteFixture.InTwo.ToUpperInvariant()} ");
        await visit.Page.Keyboard.PressAsync("Enter");
        var rows = visit.Page.Locator(".result .breach");
        await Assertions.Expect(rows).ToHaveCountAsync(2);
        await Assertions.Expect(visit.Page.Locator(".result h2")).ToHaveTextAsync("This address is in 2 breaches");
        await Assertions.Expect(rows.First).ToContainTextAsync("Email addresses, Passwords");
        await Assertions.Expect(rows.First.Locator(".badge")).ToHaveTextAsync("AG");
        await visit.Page.Locator(".result summary").First.ClickAsync();
        await Assertions.Expect(rows.First.Locator("ol li").First).ToHaveTextAsync(
            "Change your password at Alpha Games, if you have an account there.");
        await visit.WriteOrRequirePictureAsync("search-hit");
        // SHA-1 of two@example.com, by another program: printf two@example.com | sha1sum
        visit.AssertNothingRevealed("two@example.com", "8E92ABE0B58A287A4A8D55728DAAE0B3AC2F1674", 6);
        visit.AssertNoErrors();
    }

    [BrowserFact]
    public async Task Miss_makes_the_same_requests_as_a_hit()
    {
        async Task<IReadOnlyList<string>> RequestsOfAsync(string address, string shown)
        {
            await using var visit = await browser.VisitAsync(Address);
            await visit.SearchAsync(address);
            await Assertions.Expect(visit.Page.Locator(".result .panel")).ToContainTextAsync(shown);
            if (address == "nobody@example.com")
                await visit.WriteOrRequirePictureAsync("search-miss");
            visit.AssertNoErrors();
            return [.. visit.Paths.Select(path => path.StartsWith("/search/range/", StringComparison.Ordinal) ? "/search/range/" : path)];
        }

        var hit = await RequestsOfAsync(SiteFixture.InTwo, "This address is in 2 breaches");
        Assert.Contains("/search/range/", hit);
        Assert.Equal(hit, await RequestsOfAsync("nobody@example.com", "in no breach"));
        Assert.Equal(hit, await RequestsOfAsync(SiteFixture.InSensitive, "in no breach"));
    }

    [BrowserFact]
    public async Task Password_check_sends_five_digits_of_its_hash()
    {
        await using var visit = await browser.VisitAsync(Address);
        var result = visit.Page.Locator("form[data-search=password] .panel");
        foreach (var (password, shown) in ((string, string)[])[("password", "52,256,179 times"), ("letmein", "not on the list")])
        {
            await visit.Page.FillAsync("#password", password);
            await visit.Page.ClickAsync("form[data-search=password] button");
            await Assertions.Expect(result).ToContainTextAsync(shown);
            var known = ClientCorpus.Passwords.Single(one => one.Password == password);
            visit.AssertNothingRevealed(password == "password" ? "=password" : password, known.Hash(HibpIngest.Passwords.HashMode.Sha1), 5);
        }
        visit.AssertNoErrors();
    }

    [BrowserFact]
    public async Task Person_subscribes_by_keyboard_and_follows_the_links_of_the_mails()
    {
        var people = site.People;
        await using var visit = await browser.VisitAsync(
            $"{Address}/breach/Alpha", new BrowserNewContextOptions { JavaScriptEnabled = false });
        await visit.WriteOrRequirePictureAsync("breach");
        await visit.Page.GotoAsync($"{Address}/subscribe");
        await visit.WriteOrRequirePictureAsync("subscribe");
        await visit.Page.FocusAsync("#email");
        await visit.Page.Keyboard.TypeAsync(SiteFixture.Subscriber);
        await visit.Page.Keyboard.PressAsync("Enter");
        var title = visit.Page.Locator("h1");
        await Assertions.Expect(title).ToHaveTextAsync("Check your mail");
        await people.RunToEndAsync();

        await visit.Page.GotoAsync(Address + PeopleRig.LinkIn(people.LastMail(), "verify"));
        await visit.Page.ClickAsync("main button");
        await Assertions.Expect(title).ToHaveTextAsync("Your address is confirmed");
        await people.RunToEndAsync();
        Assert.Contains("Gamma: Email addresses; sensitive", people.LastMail().TextBody, StringComparison.Ordinal);
        Assert.Contains(new Subscription(SiteFixture.Subscriber, null), await people.SubscribersAsync());

        await visit.Page.GotoAsync(Address + PeopleRig.UnsubscribeIn(people.LastMail()));
        await visit.Page.ClickAsync("main button");
        await Assertions.Expect(title).ToHaveTextAsync("You are unsubscribed");
        await people.RunToEndAsync();
        Assert.DoesNotContain(new Subscription(SiteFixture.Subscriber, null), await people.SubscribersAsync());
        visit.AssertNoErrors();
    }

    [BrowserFact]
    public async Task Owner_proves_a_domain_signs_in_and_sees_its_accounts()
    {
        var people = site.People;
        await using var visit = await browser.VisitAsync(
            $"{Address}/domains", new BrowserNewContextOptions { ViewportSize = new ViewportSize { Width = 1280, Height = 800 } });
        var title = visit.Page.Locator("h1");
        await visit.WriteOrRequirePictureAsync("domains");
        await visit.Page.FillAsync("#domain", "example.com");
        await visit.Page.CheckAsync("input[value=file]");
        await visit.Page.FillAsync("#email", "owner@example.net");
        await visit.Page.Keyboard.PressAsync("Enter");
        await Assertions.Expect(title).ToHaveTextAsync("Prove that you own the domain");
        await visit.WriteOrRequirePictureAsync("domain-proof");
        await visit.AssertFitsNarrowAndWideAsync();

        await visit.Page.GotoAsync($"{Address}/domains");
        await visit.Page.FillAsync("#domain", "example.com");
        await visit.Page.CheckAsync("input[value=postmaster]");
        await visit.Page.Keyboard.PressAsync("Enter");
        await Assertions.Expect(title).ToHaveTextAsync("Check the mailbox");
        await people.RunToEndAsync();
        var owner = people.Mails()[^1].To;
        await visit.Page.GotoAsync(Address + PeopleRig.LinkIn(people.LastMail(), "domains/confirm"));
        await visit.Page.ClickAsync("main button");
        await Assertions.Expect(title).ToHaveTextAsync("The domain is confirmed");
        await people.RunToEndAsync();

        await visit.Page.GotoAsync($"{Address}/domains");
        await visit.Page.FillAsync("#signin-domain", "example.com");
        await visit.Page.FillAsync("#signin-email", owner);
        await visit.Page.Keyboard.PressAsync("Enter");
        await Assertions.Expect(title).ToHaveTextAsync("Check your mail");
        await people.RunToEndAsync();
        await visit.Page.GotoAsync(Address + PeopleRig.LinkIn(people.LastMail(), "domains/open"));
        await visit.Page.ClickAsync("main button");
        await Assertions.Expect(title).ToHaveTextAsync("example.com");
        await visit.Page.ClickAsync("summary:has-text('Alpha Games')");
        await Assertions.Expect(visit.Page.Locator("details[open] li")).ToHaveTextAsync([SiteFixture.InTwo]);
        await visit.WriteOrRequirePictureAsync("domain-accounts");
        // A sensitive breach is shown to the owner, a hidden one to nobody.
        await Assertions.Expect(visit.Page.Locator("summary:has-text('Gamma')")).ToHaveCountAsync(1);
        await Assertions.Expect(visit.Page.Locator("summary:has-text('Hidden')")).ToHaveCountAsync(0);
        await visit.AssertFitsNarrowAndWideAsync();
        Assert.False(await visit.Page.EvaluateAsync<bool>("'attacked' in window"));
        var csv = await visit.Page.RunAndWaitForDownloadAsync(() => visit.Page.ClickAsync("a[download]"));
        Assert.Equal("example.com-accounts.csv", csv.SuggestedFilename);
        Assert.Contains(
            $"{SiteFixture.InSensitive},Gamma,", await File.ReadAllTextAsync(await csv.PathAsync()), StringComparison.Ordinal);

        await visit.Page.ClickAsync("button.quiet");
        await Assertions.Expect(title).ToHaveTextAsync("Watch a domain");
        await visit.Page.GotoAsync($"{Address}/domains/accounts");
        await Assertions.Expect(title).ToHaveTextAsync("You are not signed in");
        // The signed-out page is a 400.
        visit.AssertNoErrors(except: "400");
    }

    [BrowserFact]
    public async Task Error_says_what_to_do()
    {
        await using var visit = await browser.VisitAsync(Address);
        var panel = visit.Page.Locator("form[data-search=range] .panel");
        await visit.SearchAsync("not an address");
        await Assertions.Expect(panel).ToContainTextAsync("That is not an email address");
        // One route for all: while one is replaced, a request may reach the server.
        var status = 0;
        await visit.Page.RouteAsync("**/search/range/**", route => route.FulfillAsync(new RouteFulfillOptions { Status = status }));
        foreach (var (code, shown) in ((int, string)[])[(429, "Wait a minute"), (403, "Reload it"), (503, "Try again in a moment")])
        {
            status = code;
            await visit.SearchAsync(SiteFixture.InTwo);
            await Assertions.Expect(panel).ToContainTextAsync(shown);
        }
    }

    [BrowserFact]
    public async Task Search_is_disabled_without_a_secure_connection_and_without_scripts()
    {
        await using (var visit = await browser.VisitAsync($"http://{BrowserFixture.OtherMachine}:{site.Web.Address.Port}/"))
        {
            await Assertions.Expect(visit.Page.Locator("[data-insecure]")).ToBeVisibleAsync();
            await Assertions.Expect(visit.Page.Locator("#email")).ToBeDisabledAsync();
        }
        await using (var visit = await browser.VisitAsync(Address, new BrowserNewContextOptions { JavaScriptEnabled = false }))
        {
            // Playwright only emulates disabled scripts: noscript is in the DOM but not rendered, so its text is read instead of its
            // visibility.
            Assert.Contains(
                "Searching needs JavaScript", await visit.Page.Locator("noscript").First.TextContentAsync(), StringComparison.Ordinal);
            await Assertions.Expect(visit.Page.Locator("#email")).ToBeDisabledAsync();
            await visit.Page.GotoAsync($"{Address}/breaches?sort=title&year=2013");
            await Assertions.Expect(visit.Page.Locator("li.breach")).ToHaveCountAsync(1);
        }
    }

    [BrowserFact]
    public async Task Pages_fit_their_screen_and_are_accessible()
    {
        await using var visit = await browser.VisitAsync();
        foreach (var page in Pages)
        {
            await visit.Page.GotoAsync($"{Address}{page}");
            // Whether a page fits depends on the width, its contrast on the color scheme: two of the four pairs cover both.
            foreach (var (width, scheme) in ((int, ColorScheme)[])[(360, ColorScheme.Light), (1280, ColorScheme.Dark)])
            {
                await visit.Page.SetViewportSizeAsync(width, 800);
                await visit.Page.EmulateMediaAsync(new PageEmulateMediaOptions { ColorScheme = scheme });
                await visit.AssertFitsAsync();
            }
        }
        visit.AssertNoErrors(except: "404");
    }

    [BrowserFact]
    public async Task Hostile_metadata_runs_no_script()
    {
        await using var visit = await browser.VisitAsync();
        foreach (var page in (string[])["/breach/Hostile", "/breaches", "/"])
        {
            await visit.Page.GotoAsync($"{Address}{page}");
            Assert.False(await visit.Page.EvaluateAsync<bool>("'attacked' in window"), page);
            var attacks = visit.Page.Locator("main script, main img, main [onerror], main [onmouseover], main a[href^=javascript]");
            Assert.Equal(0, await attacks.CountAsync());
        }
        await visit.SearchAsync("hostile@example.com");
        await Assertions.Expect(visit.Page.Locator(".result .breach")).ToHaveCountAsync(1);
        Assert.False(await visit.Page.EvaluateAsync<bool>("'attacked' in window"));
        visit.AssertNoErrors();
    }
}
