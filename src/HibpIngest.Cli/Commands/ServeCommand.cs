using HibpIngest.Hosting.Messages;

namespace HibpIngest.Cli.Commands;

internal sealed class ServeCommand : HibpCommand
{
    private readonly ServeOptions _serve = new();

    public ServeCommand()
        : base("serve", "Answer lookups over HTTP, as Have I Been Pwned's API v3 does, until Ctrl+C. Reads tables and blobs, and opens no "
            + "database. Any number may run against the same storage.")
    {
        foreach (var option in _serve.All)
            Add(option);
        foreach (var option in LoggingOptions.All)
            Add(option);
        Examples =
        [
            ("hibp serve --open", "without keys, for this machine alone: try http://127.0.0.1:8080/api/v3/breaches"),
            ("hibp serve", "for who has a key; 'hibp keys create NAME' makes one"),
            ("hibp serve --urls http://0.0.0.0:80", "to other machines; put something that speaks https before it"),
            ("hibp serve --urls https://0.0.0.0:443 --certificate api.pem", "or speak it here, HTTP/2 included"),
        ];
    }

    protected override bool IsPipeline => true;

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        RunCommand.HostAsync(session, HostRoles.Web, _serve, listen: null, accounts: null, cancellationToken);
}
