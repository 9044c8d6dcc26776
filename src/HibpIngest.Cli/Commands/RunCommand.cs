using System.CommandLine.Parsing;
using HibpIngest.Cli.Backups;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.LocalHost;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Cli.Commands;

internal sealed class RunCommand : HibpCommand
{
    private const string KnownRoles = "ingest, upsert, notify, call, sweep, passwords, journal, access, web";
    private const string StopAgain = "Ctrl+C again ends it at once";

    private static readonly TimeSpan WarningTimeout = TimeSpan.FromSeconds(10);

    private readonly Option<HostRoles> _roles = new("--roles")
    {
        Description = $"Roles of this process, separated by commas: {KnownRoles}. Default: all but web, which is 'hibp serve'.",
        HelpName = "ROLES",
        CustomParser = ParseRoles,
        DefaultValueFactory = _ => HostRoles.All,
        AllowMultipleArgumentsPerToken = true,
        Arity = ArgumentArity.OneOrMore,
    };

    private static readonly IReadOnlyList<string> RoleNames =
        [.. Enum.GetValues<HostRoles>().Where(role => int.IsPow2((int)role)).Select(role => role.ToString().ToLowerInvariant())];

    private readonly ServeOptions _serve = new();
    private readonly Option<string?> _listen = new("--listen")
    {
        Description = "Serve /healthz (this process), /readyz (its stores), /metrics (for Prometheus) and /usage?hours=24&by=route "
            + "(request counts) at this loopback address. Default: off.",
        HelpName = "URL",
    };

    private readonly Option<int?> _accounts = new("--accounts")
    {
        Description = $"Number of storage accounts that the local emulator provides, 1 to {LayoutFacts.MaxStorageAccounts}, to try layouts "
            + "over several. Each is an emulator with its own data. Default: as many as in earlier runs.",
        HelpName = "N",
    };

    public RunCommand()
        : base("run", "Run the pipeline until Ctrl+C. Any number of hosts can share storage and database.")
    {
        _roles.CompletionSources.Clear();
        _roles.CompletionSources.Add([.. RoleNames]);
        Add(_roles);
        Add([.. _serve.All, _listen, _accounts]);
        _accounts.Validators.Add(result =>
        {
            if (result.Tokens is [var token] && int.TryParse(token.Value, out var number)
                && number is < 1 or > LayoutFacts.MaxStorageAccounts)
                result.AddError($"--accounts: expected 1 to {LayoutFacts.MaxStorageAccounts}, found {number}");
        });
        Validators.Add(result =>
        {
            // An unknown role is reported as an error of its own, and has no value.
            if (result.GetResult(_roles)?.Tokens.Any(token => token.Value.Contains("web", StringComparison.OrdinalIgnoreCase)) == true)
                return;
            foreach (var option in _serve.All)
            {
                if (IsGiven(result, option))
                    result.AddError($"{option.Name} requires --roles web, or 'hibp serve'");
            }
        });
        Add(LoggingOptions.All);
        AddExamples(
            ("hibp run", "all roles, with the storage emulator unless HIBP_STORAGE is set"),
            ("hibp run --roles upsert", "another process, which upserts slices"),
            ("hibp run --listen http://127.0.0.1:8081", "with health checks and metrics"),
            ("hibp run --accounts 4", "with four emulators, to try layouts over several storage accounts"),
            ("hibp run --verbose", "with a detailed log"));
    }

    protected override bool IsHost => true;

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        HostAsync(
            session, session.Parsed.GetValue(_roles), _serve, session.Parsed.GetValue(_listen), session.Parsed.GetValue(_accounts),
            cancellationToken);

    public static async Task HostAsync(
        CommandSession session, HostRoles roles, ServeOptions serve, string? listen, int? accounts, CancellationToken cancellationToken)
    {
        session.PipelineLevel = LogLevel.Information;
        session.WarnOfUnknownVariables();
        if (roles.HasFlag(HostRoles.Web))
            serve.ResolveWebUrl(session);
        // The location of installations in earlier versions.
        if (File.Exists(Path.Combine(".hibp", "hibp.db")) && Path.GetFullPath(".hibp") != Path.GetFullPath(session.Settings.Home))
        {
            session.Screen.Say(
                $"warning: the database in .hibp of this folder is not used: HIBP_HOME is {session.Settings.Home}; set it to .hibp to "
                + "use that database");
        }
        if (roles.HasFlag(HostRoles.Notify))
            _ = session.Settings.CreateMailComposer();
        await using var emulators = await StartEmulatorsAsync(session, accounts, cancellationToken);
        // Stores are checked before the host reports that it is ready. The web role needs no database.
        if (roles == HostRoles.Web)
            await session.RequireEmulatorAsync(cancellationToken);
        var host = roles == HostRoles.Web ? null : await session.OpenHostAsync(
            new LocalHostOptions { Roles = roles & HostRoles.All, OnStopping = messages => session.Screen.Say(Stopping(messages)) },
            cancellationToken);
        await using var opened = (IAsyncDisposable?)host;
        var services = host?.Services;
        if (services?.GetRequiredService<IBreachDatabase>() is SqliteBreachDatabase file)
            DatabaseRestore.RemoveLeft(file.DisplayName);
        await using var server = roles.HasFlag(HostRoles.Web) ? await serve.StartAsync(session, cancellationToken) : null;
        await using var operators = listen is not null
            ? await OperatorListener.StartAsync(
                listen, (services ?? server!.Services).GetRequiredService<StorageAccount>(),
                services is null ? null : new StatusFeed(services, session.Settings, session.Time), session.Time, cancellationToken) : null;
        if (operators is not null)
        {
            session.Screen.Say($"watch at: {operators.Address}{(services is null ? "" : "/status")}");
            session.Screen.Say("          requires no key, so it must not be behind a proxy");
        }
        if (services is not null)
        {
            session.Screen.Say($"storage:  {services.GetRequiredService<StorageAccount>().DisplayName}");
            session.Screen.Say($"database: {services.GetRequiredService<IBreachDatabase>().DisplayName}");
            session.Screen.Say($"mails:    {services.GetRequiredService<INotificationSender>().DisplayName}");
            if (roles.HasFlag(HostRoles.Notify))
                await CheckMailAsync(session, services.GetRequiredService<INotificationSender>(), cancellationToken);
        }
        session.Screen.Say(services is null
            ? "ready; stop with Ctrl+C" : "ready; drop a breach with 'hibp drop FILE' in another terminal, stop with Ctrl+C");
        using var stopping = services is not null ? default
            : cancellationToken.Register(() => session.Screen.Say($"stopping: waiting for requests in progress; {StopAgain}"));
        try
        {
            if (host is null)
                await Task.Delay(Timeout.InfiniteTimeSpan, session.Time, cancellationToken);
            else
            {
                await using var progress = new LoadLines(
                    host.Services.GetRequiredService<IStoreRegister>(), host.Services.GetRequiredService<IBreachDatabase>(), session.Screen,
                    session.Time, session.Settings.Get<MailOptions>().MailsPerSecond);
                await LocalHostRunner.RunAsync(host, cancellationToken);
            }
        }
        finally
        {
            if (emulators is { HasStarted: true } && services is not null)
                await WarnOthersAsync(session, services.GetRequiredService<IStoreRegister>());
            session.Screen.Say("stopped");
        }
        cancellationToken.ThrowIfCancellationRequested();
    }

    public static string Stopping(IReadOnlyDictionary<string, int> messages)
    {
        var count = messages.Values.Sum();
        if (count == 0)
            return $"stopping; {StopAgain}";
        var queues = messages.OrderBy(one => one.Key, StringComparer.Ordinal).Select(one => $"{one.Key}: {one.Value}");
        return $"stopping: waiting until {(count == 1 ? "1 message reaches" : $"{count} messages reach")} a point to resume from "
            + $"({string.Join(", ", queues)}); {StopAgain}";
    }

    /// <summary>
    /// Checks the mail server before the first load instead of after it. A server that is down may be back by then; one that refuses login
    /// or sender stays wrong.
    /// </summary>
    private static async Task CheckMailAsync(CommandSession session, INotificationSender sender, CancellationToken cancellationToken)
    {
        try
        {
            await sender.CheckAsync(MailFrom.Parse(session.Settings.Get<MailOptions>().MailFrom).Address, cancellationToken);
        }
        catch (UnavailableException e)
        {
            session.Screen.Say($"warning: mails can't be sent now; sending is retried when there are any: {e.Message}");
        }
    }

    /// <exception cref="BadInputException">A storage account is configured instead.</exception>
    public static async Task<EmulatorSupervisor?> StartEmulatorsAsync(
        CommandSession session, int? accounts, CancellationToken cancellationToken)
    {
        if (session.Settings.Emulator is not { } emulator)
        {
            return accounts is null ? null
                : throw new BadInputException("--accounts is for the emulator: name further storage accounts in HIBP_STORAGE_2, and so on");
        }
        var started = new EmulatorSupervisor(emulator, new ImmediateProgress<string>(session.Screen.Say), session.Time);
        try
        {
            await started.StartAsync(Math.Max(accounts ?? 1, 1 + emulator.Further().Count), cancellationToken);
            return started;
        }
        catch (Exception)
        {
            await started.DisposeAsync();
            throw;
        }
    }

    private static async Task WarnOthersAsync(CommandSession session, IHeartbeats signs)
    {
        using var timeout = new CancellationTokenSource(WarningTimeout);
        try
        {
            var now = session.Time.GetUtcNow();
            var others = (await signs.ListHeartbeatsAsync(timeout.Token))
                .Where(sign => sign.Host != LoadLeases.Host && !sign.IsMissed(now)).ToList();
            if (others.Count > 0)
            {
                session.Screen.Say(
                    $"warning: the storage emulator ends with this process, and {HostsView.Names(others)} "
                    + $"{(others.Count == 1 ? "waits" : "wait")} until it runs again: hibp run starts it");
            }
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            // Without a response there is no list of hosts to warn of.
        }
    }

    private static HostRoles ParseRoles(ArgumentResult result)
    {
        var roles = HostRoles.None;
        var wrong = false;
        foreach (var name in result.Tokens.SelectMany(
            token => token.Value.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)))
        {
            if (EnumNames.TryParse(name, out HostRoles role) && role != HostRoles.None)
                roles |= role;
            else if (name.Equals("log", StringComparison.OrdinalIgnoreCase))
                roles |= HostRoles.Journal; // its former name
            else
            {
                result.AddError($"'{name}' is not a role: expected {KnownRoles}");
                wrong = true;
            }
        }
        if (roles == HostRoles.None && !wrong)
            result.AddError($"--roles names no role: {KnownRoles}");
        return roles;
    }
}
