using System.CommandLine;
using HibpIngest.Cli.Output;
using HibpIngest.Hosting.Local;
using HibpIngest.Hosting.Web;

namespace HibpIngest.Cli.Commands;

internal sealed class ServeCommand : HibpCommand
{
    private readonly Option<string[]> _urls = UrlsOption();
    private readonly Option<bool> _open = OpenOption();

    private readonly Option<FileInfo?> _certificate = CertificateOption();

    public ServeCommand()
        : base("serve", "Answer lookups over HTTP, as Have I Been Pwned's API v3 does, until Ctrl+C. Reads tables and blobs, and opens no "
            + "database. Any number may run against the same storage.")
    {
        Add(_urls);
        Add(_open);
        Add(_certificate);
        Examples =
        [
            ("hibp serve --open", "without keys, for this machine alone: try http://127.0.0.1:8080/api/v3/breaches"),
            ("hibp serve", "for who has a key; 'hibp keys create NAME' makes one"),
            ("hibp serve --urls http://0.0.0.0:80", "to other machines; put something that speaks https before it"),
            ("hibp serve --urls https://0.0.0.0:443 --certificate api.pem", "or speak it here, HTTP/2 included"),
        ];
    }

    protected override bool IsPipeline => true;

    public static Option<string[]> UrlsOption() => new("--urls")
    {
        Description = "Where to listen, as http://HOST:PORT or https://HOST:PORT; HOST is localhost or an IP address, 0.0.0.0 for all.",
        HelpName = "URL",
        AllowMultipleArgumentsPerToken = true,
        DefaultValueFactory = _ => [WebServerOptions.DefaultUrl],
    };

    public static Option<FileInfo?> CertificateOption() => new("--certificate")
    {
        Description = "PEM file of the certificate and its key, for URLs that begin with https.",
        HelpName = "FILE",
    };

    public static Option<bool> OpenOption() => new("--open")
    {
        Description = "Ask nobody for a key. Listens on loopback only, and answers no request that came through a proxy.",
    };

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var emulator = await RunCommand.StartEmulatorAsync(session, cancellationToken);
        using var account = await session.OpenAccountAsync(cancellationToken);
        await using var server = await StartAsync(
            session, account, session.Parsed.GetRequiredValue(_urls), session.Parsed.GetValue(_open),
            session.Parsed.GetValue(_certificate), cancellationToken);
        session.Screen.Say("ready; stop with Ctrl+C");
        try
        {
            await Task.Delay(Timeout.InfiniteTimeSpan, session.Time, cancellationToken);
        }
        finally
        {
            session.Screen.Say("stopped");
        }
        return 0;
    }

    /// <summary>Starts the API, and says where it is.</summary>
    public static async Task<WebServer> StartAsync(
        CommandSession session, AzureStorage.StorageAccount account, string[] urls, bool isOpen, FileInfo? certificate,
        CancellationToken cancellationToken)
    {
        var options = new WebServerOptions
        {
            Urls = urls,
            IsOpen = isOpen,
            CertificateFile = certificate?.FullName,
            Address = session.Settings.Options.WebUrl,
            Web = session.Settings.Web,
        };
        var server = await WebServer.StartAsync(WebFactory.StoresOf(account), options, session.Time, session.Logs, cancellationToken);
        session.Screen.Say($"storage:  {account.DisplayName}");
        session.Screen.Say($"API:      {string.Join(", ", server.Addresses)}");
        if (isOpen)
            session.Screen.Say("OPEN:     whoever can run a program on this machine may look anybody up; no key is asked for");
        return server;
    }
}
