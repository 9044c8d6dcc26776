using Deque.AxeCore.Commons;
using Microsoft.Playwright;

namespace HibpIngest.Integration.Tests.Pages;

/// <summary>Debian's Chromium, driven by Playwright. Started by the first test that needs it.</summary>
public sealed class BrowserFixture : IAsyncLifetime
{
    /// <summary>A name that the browser resolves to this machine, but doesn't trust as it trusts localhost.</summary>
    public const string OtherMachine = "pages.test";

    /// <summary>Null: there is no browser.</summary>
    public static readonly string? Program = ((string[])["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"])
        .FirstOrDefault(File.Exists);

    private IPlaywright? _playwright;
    private IBrowser? _browser;

    public async Task InitializeAsync()
    {
        if (Program is null)
            return;
        // The default of 5 s is too short on a busy machine.
        Assertions.SetDefaultExpectTimeout(30_000);
        _playwright = await Playwright.CreateAsync();
        _browser = await _playwright.Chromium.LaunchAsync(new BrowserTypeLaunchOptions
        {
            ExecutablePath = Program,
            // The sandbox needs a user other than root. The name isn't resolved by any server.
            // Fewer processes: these tests need no isolation of sites, and each process costs CPU time to start.
            Args =
            [
                "--no-sandbox", "--disable-gpu", "--in-process-gpu", "--renderer-process-limit=1", "--disable-extensions",
                $"--host-resolver-rules=MAP {OtherMachine} 127.0.0.1",
            ],
        });
    }

    public async Task DisposeAsync()
    {
        if (_browser is not null)
            await _browser.DisposeAsync();
        _playwright?.Dispose();
    }

    /// <param name="address">The first page; null: none.</param>
    internal async Task<BrowserVisit> VisitAsync(string? address = null, BrowserNewContextOptions? options = null)
    {
        if (_browser is null)
            throw new InvalidOperationException("there is no browser: install Debian's package chromium");
        var visit = await BrowserVisit.StartAsync(await _browser.NewContextAsync(options));
        if (address is not null)
            await visit.Page.GotoAsync(address);
        return visit;
    }
}

/// <summary>One visitor: a profile of its own, and everything that the browser sent and complained of.</summary>
internal sealed class BrowserVisit : IAsyncDisposable
{
    private static readonly string Axe = new BundledAxeScriptProvider().GetScript();

    private readonly IBrowserContext _context;
    private readonly ConcurrentQueue<IRequest> _requests = [];
    private readonly ConcurrentQueue<string> _errors = [];

    private BrowserVisit(IBrowserContext context, IPage page)
    {
        (_context, Page) = (context, page);
        page.Request += (_, request) => _requests.Enqueue(request);
        // Chromium reports a violation of the content security policy as an error, too.
        page.Console += (_, message) =>
        {
            if (message.Type is "error" or "warning")
                _errors.Enqueue(message.Text);
        };
        page.PageError += (_, error) => _errors.Enqueue(error);
    }

    public IPage Page { get; }

    /// <summary>Paths of the requests, in order.</summary>
    public IReadOnlyList<string> Paths => [.. _requests.Select(request => new Uri(request.Url).AbsolutePath)];

    public static async Task<BrowserVisit> StartAsync(IBrowserContext context)
    {
        context.SetDefaultTimeout(30_000);
        return new BrowserVisit(context, await context.NewPageAsync());
    }

    /// <summary>Presses Tab until the element with this id has the focus.</summary>
    public async Task TabToAsync(string id)
    {
        for (var i = 0; i < 20; i++)
        {
            await Page.Keyboard.PressAsync("Tab");
            if (await Page.EvaluateAsync<string>("document.activeElement.id") == id)
                return;
        }
        Assert.Fail($"Tab doesn't reach {id}");
    }

    public async Task SearchAsync(string address)
    {
        await Page.FillAsync("#email", address);
        await Page.ClickAsync("form[data-search=range] button");
    }

    /// <summary>Asserts that no request contains the text, or more digits of its hash than the prefix has.</summary>
    public void AssertNothingRevealed(string text, string hash, int digits)
    {
        var sent = _requests.Select(request => string.Join('\n',
            [
                Uri.UnescapeDataString(request.Url), request.PostData ?? "",
                .. request.Headers.Select(header => $"{header.Key}: {header.Value}"),
            ]))
            .ToList();
        Assert.Contains(sent, request => request.Contains(hash[..digits], StringComparison.OrdinalIgnoreCase));
        Assert.All(sent, request =>
        {
            Assert.DoesNotContain(text, request, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain(hash[..(digits + 1)], request, StringComparison.OrdinalIgnoreCase);
        });
    }

    /// <summary>Asserts that the page is not wider than the screen, and that axe finds nothing serious or critical.</summary>
    public async Task AssertFitsAsync()
    {
        Assert.True(
            await Page.EvaluateAsync<bool>("document.documentElement.scrollWidth <= window.innerWidth"),
            $"{Page.Url} is wider than {Page.ViewportSize!.Width} px");
        // Deque's package for Playwright opens another page for each check, because of frames, which these pages lack.
        await Page.EvaluateAsync(Axe);
        Assert.Empty(await Page.EvaluateAsync<string[]>(
            """
            async () => (await axe.run()).violations.filter(one => ["serious", "critical"].includes(one.impact))
                .map(one => `${location}: ${one.id}: ${one.nodes[0].html}`)
            """));
    }

    /// <summary>Asserts in a wide viewport, then in a narrow one, that the page fits. Leaves it wide.</summary>
    public async Task AssertFitsNarrowAndWideAsync()
    {
        await AssertFitsAsync();
        await Page.SetViewportSizeAsync(360, 800);
        await AssertFitsAsync();
        await Page.SetViewportSizeAsync(1280, 800);
    }

    /// <param name="except">Part of the one error that may occur.</param>
    public void AssertNoErrors(string? except = null) =>
        Assert.DoesNotContain(_errors, error => except is null || !error.Contains(except, StringComparison.Ordinal));

    /// <summary>With HIBP_GOLDEN=write, takes the documentation's pictures of the page, light and dark; else requires them.</summary>
    public async Task WriteOrRequirePictureAsync(string name)
    {
        foreach (var scheme in (ColorScheme[])[ColorScheme.Light, ColorScheme.Dark])
        {
            var file = Path.Combine(DocumentFiles.Root, "docs", "pages", $"{name}-{scheme.ToString().ToLowerInvariant()}.png");
            if (Environment.GetEnvironmentVariable("HIBP_GOLDEN") == "write")
            {
                await Page.EmulateMediaAsync(new PageEmulateMediaOptions { ColorScheme = scheme });
                await Page.ScreenshotAsync(new PageScreenshotOptions
                {
                    Path = file,
                    Animations = ScreenshotAnimations.Disabled,
                    Clip = new Clip { Width = 1_280, Height = 640 },
                });
            }
            Assert.True(File.Exists(file), $"{file} is missing: HIBP_GOLDEN=write takes it");
        }
    }

    public ValueTask DisposeAsync() => _context.DisposeAsync();
}

/// <summary>A test that needs the browser: left out with the reason if there is none, but not under CI, which has it.</summary>
internal sealed class BrowserFactAttribute : FactAttribute
{
    public BrowserFactAttribute() => Skip = BrowserFixture.Program is null && Environment.GetEnvironmentVariable("CI") is null
        ? "there is no browser: install Debian's package chromium" : null;
}
