using System.ComponentModel;
using System.Diagnostics;
using HibpIngest.Api.Settings;
using HibpIngest.Cli.Emulator;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Subscribers;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;
using HibpIngest.Storage.Sql;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Cli.Commands;

internal sealed class DoctorCommand : HibpCommand
{
    private const string Ok = "ok";
    private const string Missing = "missing";
    private const string Broken = "broken";
    private const string NotChecked = "skipped";

    // An available service responds in far less, even on a busy machine.
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(30);

    // The user wants the current state: a failed request is retried twice, within a second or two.
    private static readonly StorageOptions Impatient = new() { MaxRetries = 2 };

    public DoctorCommand()
        : base("doctor", "Check settings, stores and services, and say how to fix problems.")
    {
        AddExamples(("hibp doctor", "exits with 1 if something required is broken"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var checks = new List<DoctorLine>();
        var settings = CheckSettings(session, checks);
        if (settings is not null && !OperatingSystem.IsWindows())
            checks.Add(CheckHome(settings));
        await CheckEmulatorAsync(settings, checks, cancellationToken);
        if (settings is not null)
            await CheckStoresAsync(session, settings, checks, cancellationToken);

        var ok = checks.TrueForAll(check => check.State != Broken);
        if (!session.Screen.TryShowJson(() => new DoctorDocument(ok, checks)))
        {
            Show(session.Screen, checks);
            if (ok && settings is not null && IsFresh(settings))
            {
                session.Screen.Say("Nothing is set up here yet: 'hibp demo' loads a sample and shows the results, 'hibp run' sets up this "
                    + "machine and runs until Ctrl+C.");
            }
        }
        if (!ok)
            throw new CommandFailedException($"{checks.Count(check => check.State == Broken)} of {checks.Count} checks failed");
    }

    private static PipelineSettings? CheckSettings(CommandSession session, List<DoctorLine> checks)
    {
        try
        {
            var settings = session.Settings;
            checks.Add(settings.UnknownVariables.Count > 0
                ? new DoctorLine("settings", Missing, string.Join(" ", settings.DescribeUnknown()), "fix the names, or remove them")
                : new DoctorLine("settings", Ok, "read from the command line and HIBP_ variables", null));
            return settings;
        }
        catch (BadInputException e)
        {
            checks.Add(new DoctorLine("settings", Broken, e.Message, "fix the variable"));
            return null;
        }
    }

    /// <summary>Returns whether the emulator is configured but has never run here. It then has no data; a stopped one has.</summary>
    private static bool IsFresh(PipelineSettings settings) =>
        settings.Emulator is { } emulator && !Directory.Exists(emulator.DataFolderOf(1));

    private static DoctorLine CheckHome(PipelineSettings settings)
    {
        // Files in a private folder are private, unless a hard link gives them another path.
        var database = settings.Database == settings.DefaultDatabase || DatabaseServices.IsServer(settings.Database) ? [] :
            SqliteBreachDatabase.Companions.Prepend("").Select(suffix => settings.Database + suffix);
        string[] open = [.. database.Prepend(settings.Home).Select(Path.GetFullPath).Where(UnixFiles.IsOpenToOthers)];
        return open.Length > 0
            ? new DoctorLine("home", Missing, $"other users of this machine can read {string.Join(", ", open)}",
                $"chmod -R go-rwx {string.Join(' ', open.Select(path => $"'{path}'"))}")
            : new DoctorLine("home", Ok, Directory.Exists(settings.Home)
                ? $"{settings.Home}, for this user only" : $"{settings.Home}, which doesn't exist yet", null);
    }

    private static async Task CheckEmulatorAsync(PipelineSettings? settings, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        var withoutNode = settings is null || settings.Emulator is not null ? Broken : Missing;
        var node = await NodeVersionAsync(cancellationToken);
        checks.Add(node is null
            ? new DoctorLine("node", withoutNode, "no node on the path", "install Node 20 or later: 'hibp demo' and the storage emulator "
                + "require it")
            : new DoctorLine("node", Ok, node, null));
        try
        {
            checks.Add(AzuriteEmulator.IsInstalled()
                ? new DoctorLine("emulator", Ok, "installed", null)
                : new DoctorLine("emulator", Missing, "not installed yet", "nothing to do: hibp run or hibp demo installs it"));
        }
        catch (NotPossibleException e)
        {
            checks.Add(
                new DoctorLine("emulator", withoutNode, e.Message, "'hibp demo' requires it, and 'hibp run' unless HIBP_STORAGE is set"));
        }
    }

    private static async Task CheckStoresAsync(
        CommandSession session, PipelineSettings settings, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        ServiceProvider services;
        try
        {
            services = new ServiceCollection().AddSingleton(session.Time).AddSingleton(session.Logs)
                .AddHibp(settings, Impatient).OpenHibp();
        }
        catch (HibpException e)
        {
            // One line for each check: the settings were readable, but a store can't be opened.
            checks.RemoveAll(check => check.Check == "settings");
            checks.Insert(0, new DoctorLine("settings", Broken, e.Message, "fix the setting"));
            return;
        }
        await using var closing = services;
        var (database, register, queues) = (
            services.GetRequiredService<IBreachDatabase>(), services.GetRequiredService<IStoreRegister>(),
            services.GetRequiredService<IMessageQueues>());
        var (sender, keys) = (services.GetRequiredService<INotificationSender>(), services.GetRequiredService<InstallationKeys>());
        StoreIdentity? inTable = null;
        StoreIdentity? inDatabase = null;
        var (found, expected) = (0, 0);
        (string Found, string Advice)? setUp = null;
        const string StorageAdvice = "check HIBP_STORAGE and its permissions";
        var storage = services.GetRequiredService<StorageAccount>().DisplayName;
        var emulatorState = settings.Emulator is { } emulator
            ? await emulator.WaitForStateAsync(new ImmediateProgress<string>(session.Screen.Say),
                cancellationToken) : EmulatorState.Running;
        // Concurrently, so that several unresponsive services cost only one timeout.
        var looks = new[]
        {
            LookAtStorageAsync(
                "blobs", () => $"{storage}, container {IBreachBlobs.Container}",
                async token => await services.GetRequiredService<IBreachBlobs>().ListDropsAsync(token).AnyAsync(token)),
            LookAtStorageAsync("queues", () => storage, queues.Get(QueueNames.Ingest).GetDepthAsync),
            LookAtStorageAsync("tables", () => storage, async token => inTable = await register.GetIdentityAsync(token)),
            LookAsync(
                "database", () => $"{database.DisplayName}, schema version {found}", "check HIBP_DATABASE",
                async token =>
                {
                    (found, expected) = await database.GetSchemaVersionAsync(token);
                    setUp = await database.CheckSetUpAsync(token);
                    if (found == 0)
                        throw new StoreMissingException($"{database.DisplayName} does not exist, or is empty");
                    inDatabase = await database.GetIdentityAsync(token);
                }),
            LookAsync(
                "mails", () => sender.DisplayName, "check HIBP_MAIL, HIBP_MAIL_FROM, and the settings of mails",
                token =>
                {
                    _ = settings.CreateMailComposer();
                    return sender.CheckAsync(MailFrom.Parse(settings.Get<MailOptions>().MailFrom).Address, token);
                }),
        };
        var lines = await Task.WhenAll(looks);
        checks.AddRange(lines);
        var storageAnswers = emulatorState == EmulatorState.Running && lines[..3].All(line => line.State != Broken);
        var databaseAnswers = lines[3].State != Broken;
        if (databaseAnswers && found != expected && found != 0)
        {
            checks.Add(found < expected
                ? new DoctorLine("schema", Broken, $"version {found}, but this program requires {expected}", "hibp database upgrade")
                : new DoctorLine("schema", Broken, $"version {found}, newer than this program's {expected}", "use the newer program"));
        }
        if (setUp is { } missing)
            checks.Add(new DoctorLine("row versions", Missing, missing.Found, missing.Advice));
        var belong = false;
        if (databaseAnswers && storageAnswers)
        {
            var identity = await CheckIdentityAsync(services.GetRequiredService<StoreSetup>(), inDatabase, inTable, cancellationToken);
            checks.Add(identity);
            belong = identity.State == Ok && inTable is not null && found == expected;
        }
        else
        {
            checks.Add(Skipped("identity", "database and tables"));
        }
        if (storageAnswers)
            await TryAsync("roles", "see 'hibp status'", checks,
                check => CheckRolesAsync(check, queues, register, session.Time.GetUtcNow(), checks, cancellationToken));
        else
            checks.Add(Skipped("roles", "queues and tables"));
        if (belong)
        {
            await TryAsync("layouts", "see 'hibp layout list'", checks,
                check => CheckLayoutsAsync(check, database, register, checks, cancellationToken));
            await TryAsync("journal", "see 'hibp status'", checks,
                check => CheckJournalAsync(check, database, settings.Get<JournalOptions>().Mode, checks, cancellationToken));
            checks.Add(CheckPages(settings, (await register.GetReadLayoutAsync(cancellationToken))?.Ranges));
            checks.Add(await LookAsync(
                "suppressions", () => "no suppressions, or the key matches them", "set HIBP_SUPPRESSION_KEY",
                services.GetRequiredService<ApplySuppressions>().CheckKeyAsync));
        }
        else
        {
            checks.Add(Skipped("layouts", "a database and tables that belong together"));
            checks.Add(Skipped("journal", "a database and tables that belong together"));
            checks.Add(CheckPages(settings, null));
            checks.Add(Skipped("suppressions", "a database and tables that belong together"));
        }
        checks.Add(CheckSubscriptions(settings));
        checks.Add(services.GetRequiredService<ArchivePasswords>().Durable
            ? new DoctorLine(
                "secret key", Ok, settings.SecretKey is not null ? "set" : "in a file in HIBP_HOME, created when it is first needed", null)
            : new DoctorLine("secret key", Missing, "HIBP_SECRET_KEY is not set", "required for encrypted archives and clients only; "
                + "create it with: openssl rand -base64 32"));
        if (storageAnswers)
            await TryAsync("clients", "see 'hibp clients list'", checks,
                check => CheckClientsAsync(check, services.GetRequiredService<ICallbackClients>(), keys.Secret, checks, cancellationToken));
        else
            checks.Add(Skipped("clients", "tables"));
        var memory = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        checks.Add(new DoctorLine("memory", Ok, $"{TableFormat.Bytes(memory)} for this process; an archive may have "
            + $"{TableFormat.Number(settings.Get<IngestOptions>().Limits.MaxEntries)} entries and inflate to "
            + $"{TableFormat.Bytes(settings.Get<IngestOptions>().Limits.MaxInflatedBytes)}", null));

        Task<DoctorLine> LookAtStorageAsync(string what, Func<string> describe, Func<CancellationToken, Task> check) => emulatorState switch
        {
            EmulatorState.Stopped when IsFresh(settings) => Task.FromResult(new DoctorLine(
                what, Missing, "the storage emulator has not run yet", "nothing to do: hibp run starts it")),
            EmulatorState.Stopped => Task.FromResult(new DoctorLine(
                what, Broken, "the storage emulator is not running", "hibp run starts it; or name a storage account in HIBP_STORAGE")),
            EmulatorState.Busy => Task.FromResult(new DoctorLine(what, Broken, settings.Emulator!.BusyMessage, "try again")),
            _ => LookAsync(what, describe, StorageAdvice, check),
        };

        // Creates nothing, so missing write permission isn't detected here.
        async Task<DoctorLine> LookAsync(string what, Func<string> describe, string advice, Func<CancellationToken, Task> check)
        {
            using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
            timeout.CancelAfter(AnswerTimeout);
            try
            {
                await check(timeout.Token);
                return new DoctorLine(what, Ok, describe(), null);
            }
            catch (StoreMissingException e)
            {
                return new DoctorLine(
                    what, Missing, e.Message, $"if it should exist: {advice}; otherwise nothing, 'hibp run' creates it");
            }
            catch (HibpException e)
            {
                return new DoctorLine(what, Broken, e.Message, advice);
            }
            catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
            {
                return new DoctorLine(what, Broken, $"no response within {AnswerTimeout.TotalSeconds:0} seconds", advice);
            }
        }
    }

    private static DoctorLine Skipped(string check, string needs) => new(check, NotChecked, $"not checked: it needs {needs}", null);

    private static async Task<DoctorLine> CheckIdentityAsync(
        StoreSetup setup, StoreIdentity? inDatabase, StoreIdentity? inTable, CancellationToken cancellationToken)
    {
        const string Check = "identity";
        const string Advice = "check that HIBP_DATABASE and HIBP_STORAGE are the pair that was used before";
        if (inDatabase is null && inTable is null)
            return new DoctorLine(Check, Ok, "database and table are both new; the first command that needs them binds them", null);
        try
        {
            // The same check as every host's: the set-up decides whether a new store may join a used one, or a restored one.
            await setup.CheckAsync(cancellationToken);
        }
        catch (HibpException e)
        {
            return new DoctorLine(Check, Broken, e.Message, Advice);
        }
        return inDatabase is not null && inTable is not null
            ? new DoctorLine(Check, Ok, $"database and table belong together ({inTable.Id:N})", null)
            : new DoctorLine(
                Check, Missing, inDatabase is null
                ? "the database is new, the table belongs to another one" : "the table is new, the database belongs to another one",
                Advice);
    }

    private static DoctorLine CheckPages(PipelineSettings settings, RangesState? ranges)
    {
        const string Check = "pages";
        if (settings.OpenLinkKeys() is null)
            return new DoctorLine(Check, Ok, "off, because HIBP_LINK_KEYS is not set", null);
        if (!WebAddress.CarriesLinks(settings.Get<SiteOptions>().WebUrl))
        {
            return new DoctorLine(
                Check, Missing, "browsers can't search at HIBP_WEB_URL, because it is http", "serve it over https, and set HIBP_WEB_URL");
        }
        return ranges switch
        {
            RangesState.On => new DoctorLine(Check, Ok, "addresses can be searched", null),
            RangesState.Off => new DoctorLine(Check, Missing, "no search by address, because ranges are off", "hibp ranges fill"),
            RangesState.Filling => new DoctorLine(
                Check, Missing, "no search by address until the ranges are filled", "hibp ranges fill, unless it is running"),
            _ => Skipped(Check, "a database and tables that belong together"),
        };
    }

    /// <summary>Checks what people need to subscribe, as far as this machine has the settings of all hosts.</summary>
    private static DoctorLine CheckSubscriptions(PipelineSettings settings)
    {
        const string Check = "subscriptions";
        if (settings.OpenLinkKeys() is null)
            return new DoctorLine(Check, Ok, "off, because HIBP_LINK_KEYS is not set", null);
        if (!WebAddress.CarriesLinks(settings.Get<SiteOptions>().WebUrl))
            return new DoctorLine(Check, Missing, "mails carry no links, because HIBP_WEB_URL is http", "set it to the https address");
        var (command, given) = (settings.OpenCommandKey(), settings.Get<WebOptions>().CommandPublicKey);
        var missing = new List<string>();
        if (command is null)
            missing.Add("HIBP_COMMAND_KEY");
        if (settings.OpenSuppressionKey() is null)
            missing.Add("HIBP_SUPPRESSION_KEY");
        if (given is null && settings.Emulator is null)
            missing.Add("HIBP_COMMAND_PUBLIC_KEY");
        if (missing.Count > 0)
        {
            return new DoctorLine(
                Check, Missing, $"people can't subscribe or unsubscribe, because {string.Join(" and ", missing)} "
                + (missing.Count == 1 ? "is not set" : "are not set"),
                "hibp keys generate; for HIBP_SUPPRESSION_KEY openssl rand -base64 32; docs/people.md says which host needs which");
        }
        return given is not null && given.Trim() != command!.PublicKey
            ? new DoctorLine(Check, Broken, "HIBP_COMMAND_PUBLIC_KEY is not the public key of HIBP_COMMAND_KEY", "hibp keys generate")
            : new DoctorLine(Check, Ok, "people can subscribe and unsubscribe", null);
    }

    private static async Task TryAsync(string check, string advice, List<DoctorLine> checks, Func<string, Task> work)
    {
        try
        {
            await work(check);
        }
        catch (HibpException e)
        {
            checks.Add(new DoctorLine(check, Broken, e.Message, advice));
        }
    }

    private static async Task CheckLayoutsAsync(
        string check, ILayouts layouts, IStoreRegister register, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        var inDatabase = await layouts.ListLayoutsAsync(cancellationToken);
        var inRegister = await register.ListLayoutsAsync(cancellationToken);
        var read = await register.GetReadLayoutAsync(cancellationToken);
        var written = inDatabase.Where(layout => !layout.IsDropped).ToList();
        if (!inDatabase.OrderBy(layout => layout.Id).SequenceEqual(inRegister.OrderBy(layout => layout.Id))
            || written.TrueForAll(layout => layout.Id != read?.Id))
        {
            checks.Add(new DoctorLine(
                check, Broken, "database and register list different layouts, or the layout that is read is not written",
                "start a host: it reconciles them"));
            return;
        }
        var names = string.Join(", ", written.Select(layout => layout.Name));
        checks.Add(new DoctorLine(check, Ok, $"{names}; {read!.Name} is read", null));
        foreach (var layout in written)
        {
            var rows = await layouts.CountMissingAsync(layout.Id, cancellationToken);
            var isOpen = await layouts.GetRebuildAsync(layout.Id, cancellationToken) is not null;
            if (rows > 0 || isOpen)
            {
                checks.Add(new DoctorLine(
                    $"layout {layout.Name}", layout.Id == read.Id ? Broken : Missing,
                    rows > 0 ? $"lacks {TableFormat.Number(rows)} rows" : "its rebuild is not complete",
                    $"hibp layout rebuild --into {layout.Name}"));
            }
        }
    }

    private static async Task CheckJournalAsync(
        string check, ILoads loads, JournalMode mode, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        if (mode == JournalMode.Off)
        {
            checks.Add(new DoctorLine(
                check, Missing, "HIBP_JOURNAL is off", "nothing, if SQL's rows are backed up: there is no other copy"));
            return;
        }
        var waiting = (await loads.ListLoadsAsync(null, cancellationToken)).Where(load => load.AwaitsJournal).ToList();
        checks.Add(waiting.Count == 0 ? new DoctorLine(check, Ok, "every published load is in it", null)
            : new DoctorLine(
                check, Missing, $"{TableFormat.Number(waiting.Count)} published loads are not in it: {waiting[0].Breach}"
                + (waiting.Count > 1 ? " and others" : ""), "'hibp status' shows why; then run: hibp journal write"));
    }

    private static async Task CheckRolesAsync(
        string check, IMessageQueues queues, IHeartbeats signs, DateTimeOffset now, List<DoctorLine> checks,
        CancellationToken cancellationToken)
    {
        try
        {
            var hosts = await signs.ListHeartbeatsAsync(cancellationToken);
            var unserved = HostsView.Unserved(await StatusSnapshot.ReadQueuesAsync(queues, cancellationToken), hosts, now).ToList();
            checks.Add(unserved.Count == 0 ? new DoctorLine(check, Ok, "every queue with messages has a host", null)
                : new DoctorLine(check, Missing, string.Join("; ", unserved), "start hosts with these roles: 'hibp run' has all"));
        }
        catch (StoreMissingException)
        {
            checks.Add(new DoctorLine(check, Ok, "no host has run yet, and nothing is queued", null));
        }
    }

    private static async Task CheckClientsAsync(
        string check, ICallbackClients clients, SecretKeys? keys, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        var all = await clients.ListAsync(cancellationToken);
        var sealedOtherwise = all.Where(client => ClientOperations.OpenSecret(client, keys) is null).ToList();
        if (sealedOtherwise.Count > 0)
        {
            checks.Add(new DoctorLine(
                check, Broken, $"{sealedOtherwise[0].Name}{(sealedOtherwise.Count > 1 ? " and others" : "")} can't be called: "
                    + (keys is null ? "HIBP_SECRET_KEY is not set" : "the secret is encrypted under another HIBP_SECRET_KEY"),
                keys is null ? "set HIBP_SECRET_KEY to the key that was used when the clients were added"
                    : "append the previous key to HIBP_SECRET_KEY; or replace the secret: hibp clients rotate"));
        }
        else
        {
            checks.Add(new DoctorLine(check, Ok, all.Count == 0 ? "none" : TableFormat.Number(all.Count), null));
        }
    }

    private static async Task<string?> NodeVersionAsync(CancellationToken cancellationToken)
    {
        var start = new ProcessStartInfo("node", "--version")
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using var node = new Process { StartInfo = start };
        try
        {
            node.Start();
        }
        catch (Win32Exception)
        {
            return null;
        }
        var version = await node.StandardOutput.ReadToEndAsync(cancellationToken);
        await node.WaitForExitAsync(cancellationToken);
        return node.ExitCode == 0 ? version.Trim() : null;
    }

    internal static void Show(Screen screen, IReadOnlyList<DoctorLine> checks)
    {
        var table = TableFormat.Create("check", "state", "found", "what to do");
        foreach (var check in checks)
        {
            var colour = check.State switch { Ok => Color.Green, Missing or NotChecked => Color.Yellow, _ => Color.Red };
            table.AddRow(
                new Text(check.Check), new Text(check.State, new Style(colour)), new Text(check.Found), new Text(check.Advice ?? ""));
        }
        screen.Show(table);
    }
}
