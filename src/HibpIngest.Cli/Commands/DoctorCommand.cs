using System.ComponentModel;
using System.Diagnostics;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Local;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Spectre.Console;

namespace HibpIngest.Cli.Commands;

internal sealed class DoctorCommand : HibpCommand
{
    private const string Ok = "ok";
    private const string Missing = "missing";
    private const string Broken = "broken";

    // A service that is there answers in far less, on a machine that is busy, too; one that isn't would be retried for long.
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(30);

    public DoctorCommand()
        : base("doctor", "Look at what is configured, what answers and what is missing, and say what to do about it.")
    {
        Examples = [("hibp doctor", "exit code 1 when something needed is broken")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var checks = new List<DoctorLine>();
        var settings = CheckSettings(session, checks);
        await CheckEmulatorAsync(settings, checks, cancellationToken);
        if (settings is not null)
            await CheckStoresAsync(session, settings, checks, cancellationToken);

        var ok = checks.TrueForAll(check => check.State != Broken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new DoctorDocument(ok, checks), Documents.Default.DoctorDocument);
        else
            Show(session.Screen, checks);
        return ok ? 0 : throw new CommandFailedException(
            $"{checks.Count(check => check.State == Broken)} of {checks.Count} checks found something broken");
    }

    private static PipelineSettings? CheckSettings(CommandSession session, List<DoctorLine> checks)
    {
        try
        {
            var settings = session.Settings;
            checks.Add(settings.UnknownVariables is { Count: > 0 } unknown
                ? new DoctorLine("settings", Missing, $"{string.Join(", ", unknown)} means nothing here", "look for a misspelt name: hibp "
                    + "--help lists them")
                : new DoctorLine("settings", Ok, "read from the command line and HIBP_ variables", null));
            return settings;
        }
        catch (BadInputException e)
        {
            checks.Add(new DoctorLine("settings", Broken, e.Message, "mend the variable"));
            return null;
        }
    }

    private static async Task CheckEmulatorAsync(PipelineSettings? settings, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        var needed = settings is null || LocalEmulator.IsMeantBy(settings.Storage);
        var lacking = needed ? Broken : Missing;
        var node = await NodeVersionAsync(cancellationToken);
        checks.Add(node is null
            ? new DoctorLine("node", lacking, "no node on the path", "install Node 20 or later: hibp demo and the storage emulator need it")
            : new DoctorLine("node", Ok, node, null));
        checks.Add(RepositoryFolder.Find(Path.Combine(AzuriteEmulator.Folder, "node_modules", "azurite", "package.json")) is not null
            ? new DoctorLine("emulator", Ok, "installed", null)
            : new DoctorLine("emulator", Missing, "not installed yet", "nothing to do: hibp run or hibp demo installs it"));
    }

    private static async Task CheckStoresAsync(
        CommandSession session, PipelineSettings settings, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        OpenPipeline pipeline;
        try
        {
            pipeline = PipelineFactory.Open(settings, session.Time, session.Logs);
        }
        catch (HibpException e)
        {
            checks.Add(new DoctorLine("settings", Broken, e.Message, "mend the setting"));
            return;
        }
        await using var closing = pipeline;
        var context = pipeline.Context;
        var storageAnswers = false;
        StoreIdentity? inTable = null;
        StoreIdentity? inDatabase = null;
        if (LocalEmulator.IsMeantBy(settings.Storage) && !await LocalEmulator.AnswersAsync(cancellationToken))
        {
            checks.Add(new DoctorLine("storage", Broken, "the storage emulator is not running", "hibp run starts it; or name a storage "
                + "account in HIBP_STORAGE"));
        }
        else
        {
            const string Advice = "check HIBP_STORAGE and its permissions";
            var storage = pipeline.Account.DisplayName;
            storageAnswers = await CheckAsync(
                "blobs", () => $"{storage}, container {IBreachBlobs.Container}", Advice,
                async token => await context.Blobs.ListZipsAsync(token).AnyAsync(token));
            storageAnswers &= await CheckAsync("queues", () => storage, Advice, context.Queues.Get(QueueNames.Ingest).GetDepthAsync);
            storageAnswers &= await CheckAsync(
                "tables", () => storage, Advice, async token => inTable = await context.Register.GetIdentityAsync(token));
        }

        var (found, expected) = (0, 0);
        (string Found, string Advice)? setUp = null;
        var databaseAnswers = await CheckAsync(
            "database", () => $"{context.Database.DisplayName}, schema version {found}", "check HIBP_DATABASE",
            async token =>
            {
                (found, expected) = await context.Database.GetSchemaVersionAsync(token);
                setUp = await context.Database.CheckSetUpAsync(token);
                if (found == 0)
                    throw new StoreMissingException($"{context.Database.DisplayName} is not there, or is empty");
                inDatabase = await context.Database.GetIdentityAsync(token);
            });
        if (databaseAnswers && found != expected && found != 0)
        {
            checks.Add(found < expected
                ? new DoctorLine("schema", Broken, $"version {found}, and this program is made for {expected}", "hibp database upgrade")
                : new DoctorLine("schema", Broken, $"version {found}, newer than this program's {expected}", "use the newer program"));
        }
        if (setUp is { } lacking)
            checks.Add(new DoctorLine("row versions", Missing, lacking.Found, lacking.Advice));
        if (databaseAnswers && storageAnswers)
        {
            checks.Add(CheckIdentity(inDatabase, inTable));
            if (inDatabase is not null && inDatabase == inTable && found == expected)
            {
                await CheckLayoutsAsync(context.Database, context.Database, context.Register, checks, cancellationToken);
                await CheckLogAsync(context.Database, context.Options.Log, checks, cancellationToken);
            }
        }

        await CheckAsync("mails", () => context.Sender.DisplayName, "check HIBP_MAIL", context.Sender.CheckAsync);
        checks.Add(context.Passwords.Durable
            ? new DoctorLine("secret key", Ok, "set", null)
            : new DoctorLine("secret key", Missing, "HIBP_SECRET_KEY is not set", "needed for encrypted archives and clients only: "
                + "openssl rand -base64 32 makes one"));
        if (storageAnswers)
            await CheckClientsAsync(context.Clients, context.Keys, checks, cancellationToken);
        var memory = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        checks.Add(new DoctorLine("memory", Ok, $"{TableFormat.Bytes(memory)} for this process; an archive may have "
            + $"{TableFormat.Number(settings.Options.Limits.MaxEntries)} entries and inflate to "
            + $"{TableFormat.Bytes(settings.Options.Limits.MaxInflatedBytes)}", null));

        // Makes nothing, so whether this program may write too shows only when it does.
        async Task<bool> CheckAsync(string what, Func<string> describe, string advice, Func<CancellationToken, Task> check)
        {
            using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
            timeout.CancelAfter(AnswerTimeout);
            try
            {
                await check(timeout.Token);
                checks.Add(new DoctorLine(what, Ok, describe(), null));
                return true;
            }
            catch (StoreMissingException e)
            {
                checks.Add(
                    new DoctorLine(what, Missing, e.Message, $"where it should be there: {advice}; otherwise nothing, hibp run makes it"));
                return true;
            }
            catch (HibpException e)
            {
                checks.Add(new DoctorLine(what, Broken, e.Message, advice));
            }
            catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
            {
                checks.Add(new DoctorLine(what, Broken, $"no answer within {AnswerTimeout.TotalSeconds:0} seconds", advice));
            }
            return false;
        }
    }

    private static DoctorLine CheckIdentity(StoreIdentity? inDatabase, StoreIdentity? inTable)
    {
        const string Check = "identity";
        if (inDatabase == inTable)
        {
            return inTable is null
                ? new DoctorLine(Check, Ok, "database and table are both new; the first command that needs them binds them", null)
                : new DoctorLine(Check, Ok, $"database and table belong together ({inTable.Id:N})", null);
        }
        // A fresh one beside a used one may be all right only where the used one holds no loads yet: that is
        // for the set-up to decide.
        return inDatabase is null || inTable is null
            ? new DoctorLine(
                Check, Missing, inDatabase is null
                ? "the database is new, the table belongs to another one" : "the table is new, the database belongs to another one",
                "check that HIBP_DATABASE and HIBP_STORAGE are the pair that was used before")
            : new DoctorLine(Check, Broken, "database and table don't belong together", "check that HIBP_DATABASE and HIBP_STORAGE are "
                + "the pair that was used before");
    }

    /// <summary>Database and register tell of the same layouts, and each has what it is to have.</summary>
    private static async Task CheckLayoutsAsync(
        ILayouts layouts, IRebuilds rebuilds, ILayoutRegister register, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        const string Check = "layouts";
        try
        {
            var inDatabase = await layouts.ListLayoutsAsync(cancellationToken);
            var inRegister = await register.ListLayoutsAsync(cancellationToken);
            var read = await register.GetReadLayoutAsync(cancellationToken);
            var written = inDatabase.Where(layout => !layout.IsDropped).ToList();
            if (!inDatabase.OrderBy(layout => layout.Id).SequenceEqual(inRegister.OrderBy(layout => layout.Id))
                || written.TrueForAll(layout => layout.Id != read?.Id))
            {
                checks.Add(new DoctorLine(
                    Check, Broken, "database and register don't tell of the same layouts, or the one that is read is not written",
                    "start a host: it brings the two together"));
                return;
            }
            var names = string.Join(", ", written.Select(layout => layout.Name));
            checks.Add(new DoctorLine(Check, Ok, $"{names}; {read!.Name} is read", null));
            foreach (var layout in written)
            {
                var rows = await layouts.CountMissingAsync(layout.Id, cancellationToken);
                var isOpen = await rebuilds.GetRebuildAsync(layout.Id, cancellationToken) is not null;
                if (rows > 0 || isOpen)
                {
                    checks.Add(new DoctorLine(
                        $"layout {layout.Name}", layout.Id == read.Id ? Broken : Missing,
                        rows > 0 ? $"lacks {TableFormat.Number(rows)} rows" : "its rebuild has not ended",
                        $"hibp rebuild --into {layout.Name}"));
                }
            }
        }
        catch (HibpException e)
        {
            checks.Add(new DoctorLine(Check, Broken, e.Message, "see hibp layouts"));
        }
    }

    private static async Task CheckLogAsync(
        ILoads loads, LogMode mode, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        const string Check = "account log";
        if (mode == LogMode.Off)
        {
            checks.Add(new DoctorLine(
                Check, Missing, "HIBP_LOG is off", "nothing, where loads are kept elsewhere: SQL's rows are all there is"));
            return;
        }
        try
        {
            var waiting = (await loads.ListLoadsAsync(null, cancellationToken)).Where(load => load.WaitsForLog && load.Id < 0).ToList();
            checks.Add(waiting.Count == 0 ? new DoctorLine(Check, Ok, "every load that counts is in it", null)
                : new DoctorLine(
                    Check, Missing, $"{TableFormat.Number(waiting.Count)} loads that count are not in it: {waiting[0].Breach}"
                    + (waiting.Count > 1 ? " and others" : ""), "hibp status says why; hibp log write"));
        }
        catch (HibpException e)
        {
            checks.Add(new DoctorLine(Check, Broken, e.Message, "see hibp status"));
        }
    }

    /// <summary>They can be called with the keys that are set.</summary>
    private static async Task CheckClientsAsync(
        ICallbackClients clients, SecretKeys? keys, List<DoctorLine> checks, CancellationToken cancellationToken)
    {
        const string Check = "clients";
        try
        {
            var all = await clients.ListAsync(cancellationToken);
            var sealedOtherwise = all.Where(client => ClientOperations.OpenSecret(client, keys) is null).ToList();
            if (sealedOtherwise.Count > 0)
            {
                checks.Add(new DoctorLine(
                    Check, Broken, $"{sealedOtherwise[0].Name}{(sealedOtherwise.Count > 1 ? " and others" : "")} can't be called: the "
                    + "secret is sealed under another HIBP_SECRET_KEY",
                    "set the one that was set at hibp clients add, behind the first; or give another secret: hibp clients rotate"));
            }
            else if (all.Count > 0)
            {
                checks.Add(new DoctorLine(Check, Ok, TableFormat.Number(all.Count), null));
            }
        }
        catch (HibpException e)
        {
            checks.Add(new DoctorLine(Check, Broken, e.Message, "see hibp clients list"));
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

    private static void Show(Screen screen, IReadOnlyList<DoctorLine> checks)
    {
        var table = TableFormat.Create("check", "state", "found", "what to do");
        foreach (var check in checks)
        {
            var colour = check.State switch { Ok => Color.Green, Missing => Color.Yellow, _ => Color.Red };
            table.AddRow(
                new Text(check.Check), new Text(check.State, new Style(colour)), new Text(check.Found), new Text(check.Advice ?? ""));
        }
        screen.Show(table);
    }
}
