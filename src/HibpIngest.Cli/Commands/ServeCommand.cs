using HibpIngest.Api.Settings;
using HibpIngest.Delivery;
using HibpIngest.Hosting.Messages;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords.Serving;
using HibpIngest.Storage.Azure;

namespace HibpIngest.Cli.Commands;

internal sealed class ServeCommand : HibpCommand
{
    private readonly ServeOptions _serve = new();

    public ServeCommand()
        : base("serve", "Serve lookups over HTTP, compatible with Have I Been Pwned's API v3, until Ctrl+C. Reads tables and blobs, not "
            + "the database. Any number of processes can serve the same storage.")
    {
        Add(_serve.All);
        Add(LoggingOptions.All);
        AddExamples(
            ("hibp serve --open", "without API keys, for this machine only: try http://127.0.0.1:8080/api/v3/breaches"),
            ("hibp serve", "with API keys; 'hibp keys create NAME' creates one"),
            ("hibp serve --urls http://0.0.0.0:80", "to other machines, behind a proxy that terminates TLS"),
            ("hibp serve --urls https://0.0.0.0:443 --certificate api.pem", "with TLS and HTTP/2"));
    }

    protected override bool IsHost => true;

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        RunCommand.HostAsync(session, HostRoles.Web, _serve, listen: null, accounts: null, cancellationToken);
}

internal sealed class ServeOptions
{
    private readonly Option<string[]> _urls = new("--urls")
    {
        Description = "Addresses to listen on, as http://HOST:PORT or https://HOST:PORT; HOST is localhost or an IP address, 0.0.0.0 for "
            + "all.",
        HelpName = "URL",
        AllowMultipleArgumentsPerToken = true,
        DefaultValueFactory = _ => [WebServerOptions.DefaultUrl],
    };
    private readonly Option<bool> _open = new("--open")
    {
        Description = "Require no API key. Listens on loopback only, and must not be behind a proxy. To serve other machines, create keys "
            + "instead: hibp keys create.",
    };
    private readonly Option<FileInfo?> _certificate =
        new("--certificate") { Description = "PEM file of the certificate and its key, for https URLs.", HelpName = "FILE" };

    public IReadOnlyList<Option> All => [_urls, _open, _certificate];

    /// <summary>
    /// Warns if HIBP_WEB_URL, or its default, is a loopback address that no listener has. If it isn't set, the base address of links is
    /// the first listening address then. Must be called before the settings are used.
    /// </summary>
    public void ResolveWebUrl(CommandSession session)
    {
        var settings = session.Settings;
        var listened = session.Parsed.GetRequiredValue(_urls).Select(ReachedAt).OfType<Uri>().ToList();
        if (listened.Count == 0)
            return;
        var webUrl = new Uri(settings.Get<SiteOptions>().WebUrl);
        if (settings.HasWebUrl)
        {
            // The name of another machine may be a proxy's, or this machine's public name: it can't be compared.
            if (webUrl.IsLoopback && !listened.Exists(one => one.Scheme == webUrl.Scheme && one.Port == webUrl.Port))
            {
                session.Screen.Say($"warning: HIBP_WEB_URL is {settings.Get<SiteOptions>().WebUrl}, and the API listens on "
                    + $"{Text(listened[0])}: links to logos and the OpenAPI document lead elsewhere");
            }
            return;
        }
        if (listened.Exists(one => one.Port == webUrl.Port && one.Scheme == webUrl.Scheme))
            return;
        session.Set(PipelineSettings.WebUrlVariable, Text(listened[0]));
        session.Screen.Say($"warning: HIBP_WEB_URL is not set: this process makes links from {Text(listened[0])}, other hosts and commands "
            + $"from {Text(webUrl)}; set it on every host to the URL at which people reach the API, then run 'hibp catalogue publish'");

        static string Text(Uri address) => address.GetLeftPart(UriPartial.Authority);
    }

    /// <returns>Null if it listens on any free port, or the text is not an address, which the start reports.</returns>
    private static Uri? ReachedAt(string url)
    {
        var host = url.Replace("://*", "://localhost", StringComparison.Ordinal).Replace("://+", "://localhost", StringComparison.Ordinal)
            .Replace("://0.0.0.0", "://localhost", StringComparison.Ordinal).Replace("://[::]", "://localhost", StringComparison.Ordinal);
        return WebAddress.TryParseLink(host) is { Port: > 0 } address ? address : null;
    }

    public async Task<WebServer> StartAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var web = session.Settings.Get<WebOptions>();
        session.Settings.SetMissingKeys(web);
        var options = new WebServerOptions
        {
            Urls = session.Parsed.GetRequiredValue(_urls),
            IsOpen = session.Parsed.GetValue(_open),
            CertificateFile = session.Parsed.GetValue(_certificate)?.FullName,
            Address = session.Settings.Get<SiteOptions>().WebUrl,
            Web = web,
            Passwords = session.Settings.Get<PasswordOptions>(),
        };
        var server = await WebServer.StartAsync(
            options,
            services => services.AddHibpDns(session.Settings.Dns).AddHibpApiStorage(
                session.Settings.Storage, session.Settings.AdditionalStorage, options.Passwords.PasswordsNearest),
            session.Time, session.Logs, cancellationToken);
        session.Screen.Say($"storage:  {server.Services.GetRequiredService<StorageAccount>().DisplayName}");
        session.Screen.Say($"API:      {string.Join(", ", server.Addresses)}");
        if (web.LinkKeys is not null)
        {
            session.Screen.Say($"pages:    {options.Address}/");
            // Browsers compute hashes in a secure context only: https, or this machine.
            if (server.Addresses.Select(address => new Uri(address)).Any(one => one.Scheme == Uri.UriSchemeHttp && !one.IsLoopback)
                && !options.Address.StartsWith("https:", StringComparison.Ordinal))
            {
                session.Screen.Say("warning: the pages are served over http to other machines, where browsers can't search: put a proxy "
                    + "with https in front, and set HIBP_WEB_URL to its address");
            }
        }
        if (options.IsOpen)
        {
            session.Screen.Say("OPEN:     any program on this machine may look up any account; no key is required");
            session.Screen.Say("          it must not be behind a proxy, which would open it to every caller of the proxy; to serve "
                + "other machines, leave --open out and create keys ('hibp keys create NAME')");
        }
        return server;
    }
}
