using System.CommandLine;
using HibpIngest.AzureStorage;
using HibpIngest.Hosting.Web;

namespace HibpIngest.Cli.Commands;

/// <summary>Where the API listens and for whom, as the commands that serve it take it.</summary>
internal sealed class ServeOptions
{
    private readonly Option<string[]> _urls = new("--urls")
    {
        Description = "Where to listen, as http://HOST:PORT or https://HOST:PORT; HOST is localhost or an IP address, 0.0.0.0 for all.",
        HelpName = "URL",
        AllowMultipleArgumentsPerToken = true,
        DefaultValueFactory = _ => [WebServerOptions.DefaultUrl],
    };
    private readonly Option<bool> _open = new("--open")
    {
        Description = "Ask nobody for a key. Listens on loopback only, and answers no request that came through a proxy.",
    };
    private readonly Option<FileInfo?> _certificate = new("--certificate")
    {
        Description = "PEM file of the certificate and its key, for URLs that begin with https.",
        HelpName = "FILE",
    };

    public IReadOnlyList<Option> All => [_urls, _open, _certificate];

    /// <summary>Starts the API, and says where it is.</summary>
    public async Task<WebServer> StartAsync(CommandSession session, StorageAccount account, CancellationToken cancellationToken)
    {
        var options = new WebServerOptions
        {
            Urls = session.Parsed.GetRequiredValue(_urls),
            IsOpen = session.Parsed.GetValue(_open),
            CertificateFile = session.Parsed.GetValue(_certificate)?.FullName,
            Address = session.Settings.Options.WebUrl,
            Web = session.Settings.Web,
            Passwords = session.Settings.Passwords,
        };
        var stores = WebFactory.StoresOf(account, session.Time, session.Logs);
        var server = await WebServer.StartAsync(stores, options, session.Time, session.Logs, cancellationToken);
        session.Screen.Say($"storage:  {account.DisplayName}");
        session.Screen.Say($"API:      {string.Join(", ", server.Addresses)}");
        if (options.IsOpen)
            session.Screen.Say("OPEN:     whoever can run a program on this machine may look anybody up; no key is asked for");
        return server;
    }
}
