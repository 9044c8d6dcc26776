using System.CommandLine;
using System.CommandLine.Parsing;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Local;
using HibpIngest.Hosting.Web;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli.Commands;

internal sealed class RunCommand : HibpCommand
{
    private readonly Option<HostRoles> _roles = new("--roles")
    {
        Description = "What this process does, of ingest, upsert, notify, call, sweep, passwords, log, access and web, with commas "
            + "between. Default: all but web, which is 'hibp serve'.",
        HelpName = "ROLES",
        CustomParser = ParseRoles,
        DefaultValueFactory = _ => HostRoles.All,
        AllowMultipleArgumentsPerToken = true,
        Arity = ArgumentArity.OneOrMore,
    };

    private readonly ServeOptions _serve = new();
    private readonly Option<string?> _listen = new("--listen")
    {
        Description = "Answer /healthz (this process), /readyz (its stores) and /usage?hours=24&by=route (how often what was asked) at "
            + "this address of loopback, for whoever watches it. Default: nowhere.",
        HelpName = "URL",
    };

    private readonly Option<int?> _accounts = new("--accounts")
    {
        Description = $"Storage accounts that the local emulator stands for, 1 to {LayoutFacts.MaxStorageAccounts}, to try layouts over "
            + "several: an emulator more for each, with data of its own. Default: as many as were run before.",
        HelpName = "N",
    };

    public RunCommand()
        : base("run", "Run the pipeline here until Ctrl+C. Any number may run against the same storage and database.")
    {
        Add(_roles);
        foreach (var option in _serve.All)
            Add(option);
        Add(_listen);
        Add(_accounts);
        _accounts.Validators.Add(result =>
        {
            if (result.Tokens is [var token] && int.TryParse(token.Value, out var number)
                && number is < 1 or > LayoutFacts.MaxStorageAccounts)
                result.AddError($"--accounts is expected to be 1 to {LayoutFacts.MaxStorageAccounts}, found {number}");
        });
        Validators.Add(result =>
        {
            // A role that is none has its own error, and no value.
            if (result.GetResult(_roles)?.Tokens.Any(token => token.Value.Contains("web", StringComparison.OrdinalIgnoreCase)) == true)
                return;
            foreach (var option in _serve.All)
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
            ("hibp run --accounts 4", "with four emulators, to try layouts over several storage accounts"),
            ("hibp run --verbose", "the same, saying what it does"),
        ];
    }

    protected override bool IsPipeline => true;

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        HostAsync(
            session, session.Parsed.GetValue(_roles), _serve, session.Parsed.GetValue(_listen), session.Parsed.GetValue(_accounts),
            cancellationToken);

    /// <summary>Works in these roles until cancelled.</summary>
    public static async Task<int> HostAsync(
        CommandSession session, HostRoles roles, ServeOptions serve, string? listen, int? accounts, CancellationToken cancellationToken)
    {
        session.PipelineLevel = LogLevel.Information;
        await using var emulators = await StartEmulatorsAsync(session, accounts, cancellationToken);
        // Refused before it says that it is ready. The web needs no database.
        using var account = roles.HasFlag(HostRoles.Web) ? await session.OpenAccountAsync(cancellationToken, WebFactory.Storage) : null;
        await using var pipeline = roles == HostRoles.Web ? null : await session.OpenAsync(cancellationToken);
        using var passwords = pipeline is null ? null
            : PasswordWork.Open(
                pipeline.Account, session.Settings.Passwords, session.Settings.Options.WebUrl, session.Time, session.Logs);
        using var access = pipeline is null ? null
            : AccessWork.Open(pipeline.Account, session.Settings.Options, session.Time, session.Logs);
        await using var server = account is null ? null : await serve.StartAsync(session, account, cancellationToken);
        await using var operators = listen is not null
            ? await OperatorListener.StartAsync(listen, pipeline?.Account ?? account!, session.Time, cancellationToken) : null;
        if (operators is not null)
            session.Screen.Say($"watch at: {operators.Address}");
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
            {
                await LocalHost.RunAsync(
                    pipeline.Context, new LocalHostOptions { Roles = roles & HostRoles.All, Passwords = passwords, Access = access },
                    cancellationToken);
            }
        }
        finally
        {
            session.Screen.Say("stopped");
        }
        cancellationToken.ThrowIfCancellationRequested();
        return 0;
    }

    /// <summary>Starts the emulators on their kept data, where they are meant and nobody has.</summary>
    /// <exception cref="BadInputException">Another storage account is meant.</exception>
    private static async Task<Emulators> StartEmulatorsAsync(CommandSession session, int? accounts, CancellationToken cancellationToken)
    {
        var started = new Emulators();
        if (!LocalEmulator.IsMeantBy(session.Settings.Storage))
        {
            return accounts is null ? started
                : throw new BadInputException("--accounts is for the emulator: name further storage accounts in HIBP_STORAGE_2, and so on");
        }
        try
        {
            for (var number = 1; number <= Math.Max(accounts ?? 1, 1 + LocalEmulator.Further().Count); number++)
            {
                if (await LocalEmulator.AnswersAsync(cancellationToken, number))
                    continue;
                session.Screen.Say($"starting the storage emulator, with its data in {LocalEmulator.DataFolderOf(number)}");
                started.Add(await LocalEmulator.StartAsync(new SayProgress(session.Screen), cancellationToken, number));
            }
            return started;
        }
        catch (Exception)
        {
            await started.DisposeAsync();
            throw;
        }
    }

    /// <summary>Those that this process has started.</summary>
    private sealed class Emulators : IAsyncDisposable
    {
        private readonly List<AzuriteEmulator> _started = [];

        public void Add(AzuriteEmulator emulator) => _started.Add(emulator);

        public async ValueTask DisposeAsync()
        {
            foreach (var emulator in _started)
                await emulator.DisposeAsync();
        }
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
                result.AddError($"'{name}' is no role: ingest, upsert, notify, sweep, passwords, log, access, web");
        }
        return roles;
    }
}
