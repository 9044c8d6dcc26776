using Microsoft.Playwright;

namespace HibpIngest.Integration.Tests.Pages;

public sealed class StatusPageTests(BrowserFixture browser) : CommandTestBase, IClassFixture<BrowserFixture>
{
    [BrowserFact]
    public async Task Status_page_follows_loads_and_names_what_failed()
    {
        await using var host = await StartAsync("ready", "run", "--listen", "http://127.0.0.1:0");
        const string Watch = "watch at:";
        var watch = host.Error.Split('\n').Single(line => line.StartsWith(Watch, StringComparison.Ordinal))[Watch.Length..].Trim();
        Assert.EndsWith("/status", watch, StringComparison.Ordinal);

        await using var visit = await browser.VisitAsync(watch, new BrowserNewContextOptions { ColorScheme = ColorScheme.Dark });
        await Assertions.Expect(visit.Page.GetByText("No loads yet")).ToBeVisibleAsync();
        await DropAsync("Contoso.csv", "anna@example.com\nben@example.com\n");
        // The page is not loaded again.
        var row = visit.Page.Locator("tr", new PageLocatorOptions { HasText = "Contoso" });
        await Assertions.Expect(row).ToContainTextAsync("done");
        await Assertions.Expect(row.Locator("td").Nth(4)).ToHaveTextAsync("2");
        await Assertions.Expect(visit.Page.Locator("#live")).ToHaveTextAsync("Updated every second.");
        await DropAsync("Fabrikam.zip", "PK\u0003\u0004\0\0\0");
        await Assertions.Expect(visit.Page.Locator(".panel.bad")).ToContainTextAsync("load 2 of Fabrikam failed: ");
        Assert.DoesNotContain("example.com", await visit.Page.ContentAsync(), StringComparison.Ordinal);

        await visit.WriteOrRequirePictureAsync("status");
        foreach (var width in (int[])[360, 1280])
        {
            await visit.Page.SetViewportSizeAsync(width, 800);
            await visit.AssertFitsAsync();
        }
        visit.AssertNoErrors();

        await host.TerminateAsync();
        await Assertions.Expect(visit.Page.Locator("#live")).ToContainTextAsync("connection was lost");
    }

    private async Task DropAsync(string name, string content)
    {
        var file = Path.Combine(Folder.Path, name);
        await File.WriteAllTextAsync(file, content);
        (await RunAsync("drop", file)).Succeeded();
    }
}
