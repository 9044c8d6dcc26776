using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Integration.Tests.Pages;

/// <summary>
/// The pages over two breaches of one address, a sensitive one, one that is hidden, one whose metadata attacks its reader, and a corpus of
/// passwords.
/// </summary>
public sealed class SiteFixture : IAsyncLifetime
{
    public const string InTwo = "two@example.com";
    public const string InSensitive = "shy@example.com";

    /// <summary>An address in the sensitive breach, which subscribes.</summary>
    public const string Subscriber = "late@example.com";

    /// <summary>HTML, a right-to-left override, and far more text than fits on a line.</summary>
    public static readonly string HostileTitle =
        $"<script>window.attacked=1</script>\u202E<b onmouseover=\"window.attacked=1\">{new string('x', 10_000)}";

    private PasswordRig _passwords = null!;
    private PipelineRig _pipeline = null!;

    internal WebRig Web { get; private set; } = null!;

    /// <summary>The pipeline as people use it, with the mails that they get.</summary>
    internal PeopleRig People { get; private set; } = null!;

    public async Task InitializeAsync()
    {
        _pipeline = await PipelineRig.StartAsync(options => options.Upsert.Ranges = RangesMode.On);
        await DropAsync(
            "Alpha",
            """
            {"Title":"Alpha Games","Domain":"alpha.example","BreachDate":"2013-10-04","IsVerified":true,
             "DataClasses":["Passwords","Email addresses"],"Description":"In 2013, <em>Alpha</em> lost it."}
            """,
            InTwo, "other@example.org");
        await DropAsync("Beta", """{"Title":"Beta","BreachDate":"2019-05-24","DataClasses":["Phone numbers"]}""", InTwo);
        await DropAsync(
            "Gamma", """{"Title":"Gamma","IsSensitive":true,"IsVerified":true,"DataClasses":["Email addresses"]}""", InTwo, InSensitive,
            Subscriber);
        await DropAsync("Hidden", """{"Title":"Hidden"}""", InTwo);
        await DropAsync(
            "Hostile",
            JsonSerializer.Serialize(new
            {
                Title = HostileTitle[..200],
                Description = HostileTitle + "<img src=x onerror=\"window.attacked=1\"><a href=\"javascript:window.attacked=1\">a</a>",
                DataClasses = (string[])["<img src=x onerror=window.attacked=1>", "\u202Egnp.exe"],
            }),
            "hostile@example.com");
        await _pipeline.RunToEndAsync();
        await _pipeline.Context.Get<BreachOperations>().SetHiddenAsync("Hidden", hidden: true, None);
        _passwords = new PasswordRig(_pipeline.Connection);
        await _passwords.ImportAsync(new ClientCorpus(1), "202611");
        People = PeopleRig.Over(_pipeline);
        Web = await StartAsync();
    }

    public async Task DisposeAsync()
    {
        await Web.DisposeAsync();
        _passwords.Dispose();
        await People.DisposeAsync();
    }

    internal Task<WebRig> StartAsync(int proxies = 0, bool hasPages = true) => WebRig.StartAsync(
        _pipeline.Connection,
        configure: web => (web.LinkKeys, web.CommandPublicKey, web.Proxies) =
            (hasPages ? PeopleRig.Key : null, hasPages ? People.Context.Commands!.PublicKey : null, proxies),
        passwords: new PasswordOptions());

    private Task DropAsync(string name, string metadata, params string[] accounts) => _pipeline.DropAsync(
        $"{name}.zip", PipelineRig.Zip(("list.txt", string.Join('\n', accounts))), metadata);
}
