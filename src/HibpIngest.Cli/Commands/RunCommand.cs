using System.CommandLine;
using System.CommandLine.Parsing;
using HibpIngest.Cli.Output;
using HibpIngest.Hosting.Local;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli.Commands;

internal sealed class RunCommand : HibpCommand
{
    private readonly Option<HostRoles> _roles = new("--roles")
    {
        Description = "What this process does, of ingest, upsert, notify, sweep and web, with commas between. Default: all but web, which "
            + "is 'hibp serve'.",
        HelpName = "ROLES",
        CustomParser = ParseRoles,
        DefaultValueFactory = _ => HostRoles.All,
        AllowMultipleArgumentsPerToken = true,
        Arity = ArgumentArity.OneOrMore,
    };

    private readonly Option<string[]> _urls = ServeCommand.UrlsOption();
    private readonly Option<bool> _open = ServeCommand.OpenOption();
    private readonly Option<FileInfo?> _certificate = ServeCommand.CertificateOption();
    private readonly Option<string?> _listen = new("--listen")
    {
        Description = "Answer /healthz (this process) and /readyz (its stores) at this address of loopback, for whoever watches it. "
            + "Default: nowhere.",
        HelpName = "URL",
    };

    public RunCommand()
        : base("run", "Run the pipeline here until Ctrl+C. Any number may run against the same storage and database.")
    {
        Add(_roles);
        Add(_urls);
        Add(_open);
        Add(_certificate);
        Add(_listen);
        Validators.Add(result =>
        {
            // A role that is none has its own error, and no value.
            if (result.GetResult(_roles)?.Tokens.Any(token => token.Value.Contains("web", StringComparison.OrdinalIgnoreCase)) == true)
                return;
            foreach (var option in (Option[])[_urls, _open, _certificate])
            {
                if (IsGiven(result, option))
                    result.AddError($"{option.Name} says something only with --roles web, or with 'hibp serve'");
            }
        });
        Examples =
        [
            ("hibp run", "everything, with the storage emulator when HIBP_STORAGE names nothing else"),
            ("hibp run --roles upsert", "one more process that upserts slices"),
            ("hibp run --listen http://127.0.0.1:8081", "and say at /healthz and /readyz how it is"),
            ("hibp run --verbose", "the same, saying what it does"),
        ];
    }

    protected override bool IsPipeline => true;

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        session.PipelineLevel = LogLevel.Information;
        var roles = session.Parsed.GetValue(_roles);
        await using var emulator = await StartEmulatorAsync(session, cancellationToken);
        // Refused before it says that it is ready. The web needs no database.
        using var account = roles.HasFlag(HostRoles.Web) ? await session.OpenAccountAsync(cancellationToken) : null;
        await using var pipeline = roles == HostRoles.Web ? null : await session.OpenAsync(cancellationToken);
        await using var server = account is null ? null : await ServeCommand.StartAsync(
            session, account, session.Parsed.GetRequiredValue(_urls), session.Parsed.GetValue(_open),
            session.Parsed.GetValue(_certificate), cancellationToken);
        await using var operators = session.Parsed.GetValue(_listen) is { } url
            ? await OperatorListener.StartAsync(url, pipeline?.Context.Register ?? account!.Register, session.Time, cancellationToken)
            : null;
        if (pipeline is not null)
        {
            session.Screen.Say($"storage:  {pipeline.Account.DisplayName}");
            session.Screen.Say($"database: {pipeline.Context.Database.DisplayName}");
            session.Screen.Say($"mails:    {pipeline.Context.Sender.DisplayName}");
        }
        session.Screen.Say(pipeline is null
            ? "ready; stop with Ctrl+C" : "ready; drop a breach with 'hibp drop FILE' in another terminal, stop with Ctrl+C");
        try
        {
            if (pipeline is null)
                await Task.Delay(Timeout.InfiniteTimeSpan, session.Time, cancellationToken);
            else
                await LocalHost.RunAsync(pipeline.Context, new LocalHostOptions { Roles = roles & HostRoles.All }, cancellationToken);
        }
        finally
        {
            session.Screen.Say("stopped");
        }
        cancellationToken.ThrowIfCancellationRequested();
        return 0;
    }

    /// <summary>Starts the emulator on its kept data, where it is meant and nobody has; null where there is nothing to start.</summary>
    public static async Task<AzuriteEmulator?> StartEmulatorAsync(CommandSession session, CancellationToken cancellationToken)
    {
        if (!LocalEmulator.IsMeantBy(session.Settings.Storage) || await LocalEmulator.AnswersAsync(cancellationToken))
            return null;
        session.Screen.Say($"starting the storage emulator, with its data in {LocalEmulator.DataFolder}");
        return await LocalEmulator.StartAsync(new SayProgress(session.Screen), cancellationToken);
    }

    private static HostRoles ParseRoles(ArgumentResult result)
    {
        var roles = HostRoles.None;
        foreach (var name in result.Tokens.SelectMany(
            token => token.Value.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)))
        {
            if (Enum.GetValues<HostRoles>()
                .FirstOrDefault(
                    role => role.ToString().Equals(name, StringComparison.OrdinalIgnoreCase)) is not HostRoles.None and var role)
                roles |= role;
            else
                result.AddError($"'{name}' is no role: ingest, upsert, notify, sweep, web");
        }
        return roles;
    }
}
