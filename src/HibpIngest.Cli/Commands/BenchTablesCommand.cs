using System.Text.RegularExpressions;
using HibpIngest.Cli.TableBench;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Cli.Commands;

internal sealed partial class BenchTablesCommand : HibpCommand
{
    private const string TablePrefix = "hibpbench";

    // After Ctrl+C, a second one must not be needed.
    private static readonly TimeSpan DeletionTimeout = TimeSpan.FromSeconds(30);

    private readonly Option<int> _seconds = new("--seconds")
    {
        Description = "Time of each of the 64 measurements, 1 to 60.",
        HelpName = "SECONDS",
        DefaultValueFactory = _ => 3,
    };

    private readonly Option<int?> _requests = new("--requests")
    {
        Description = "Maximum number of requests of each measurement. [default: as many as the time allows]",
        HelpName = "N",
    };

    private readonly Option<bool> _advise = new("--advise")
    {
        Description = "Also show which settings follow, and how the figures relate to published ones.",
    };

    private readonly Option<FileInfo?> _output =
        new("--output") { Description = "Also write the results to this file, as JSON; an existing file is replaced.", HelpName = "FILE" };

    private readonly Option<bool> _clean =
        new("--clean") { Description = "Measure nothing: delete the tables that killed runs have left. No other run may be in progress." };

    private readonly Confirmation _confirmation = new();

    public BenchTablesCommand()
        : base("tables", "Measure the Table Storage of an account, in a table of its own that is deleted at the end: single entities and "
            + "transactions of 10 and 100, point reads and ranges, in one partition and 64, with 1 to 64 requests in flight. Shows the "
            + "number of requests and the cost first, and asks.")
    {
        Add(_seconds, _requests, _advise, _output, _clean, _confirmation.Yes);
        RequireRange(_seconds, 1, 60);
        RequireRange(_requests, 1, 1_000_000);
        Validators.Add(result =>
        {
            if (result.GetValue(_clean) && new Symbol[] { _seconds, _requests, _advise, _output }.Any(other => IsGiven(result, other)))
                result.AddError("--clean measures nothing: it takes none of --seconds, --requests, --advise, --output");
        });
        AddExamples(
            ("hibp bench tables --storage ACCOUNT --advise", "a few minutes on an account, signed in as yourself"),
            ("hibp bench tables --yes --output tables.json", "without asking, for scripts"),
            ("hibp bench tables --clean", "deletes the tables of killed runs"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(_clean))
        {
            await CleanAsync(session, cancellationToken);
            return;
        }
        _confirmation.RequireAnswerable(session.Parsed, "bench tables");
        using var account = await session.OpenAccountAsync(cancellationToken);
        var plan = BenchPlan.Create(
            TimeSpan.FromSeconds(session.Parsed.GetValue(_seconds)), session.Parsed.GetValue(_requests));
        var holdsStore = await account.StoreAccounts.FindAsync(1, cancellationToken) is not null;
        if (holdsStore)
        {
            session.Screen.Say($"warning: storage account {account.Name} holds a store, which shares its limits: loads and lookups are "
                + "slower meanwhile, and the figures are lower");
        }
        await AskAsync(session, account, plan, cancellationToken);
        using var file = session.Parsed.GetValue(_output) is { } target ? new PartFile(target) : null;
        var startedAt = session.Time.GetUtcNow();
        var results = await MeasureAsync(session, account, plan, cancellationToken);
        var findings = new BenchFindings(results, account.IsEmulator, session.Settings.Get<UpsertOptions>().TransactionsInFlight);
        var document = new BenchDocument(
            account.DisplayName, account.IsEmulator, startedAt, [.. results.Select(BenchMeasurementDocument.Of)])
        {
            HoldsStore = holdsStore,
            Advice = findings.Advise(),
            Comparison = findings.Compare(),
        };
        if (file is not null)
        {
            JsonSerializer.Serialize(file.Stream, document, Documents.Options);
            file.Complete();
        }
        if (findings.FindBusyCpu() is { } busy)
            session.Screen.Say($"warning: {busy}");
        if (session.Screen.TryShowJson(() => document))
            return;
        BenchView.Show(session.Screen, results);
        if (session.Parsed.GetValue(_advise))
            BenchView.ShowFindings(session.Screen, document.Advice, document.Comparison);
    }

    private async Task AskAsync(CommandSession session, StorageAccount account, BenchPlan plan, CancellationToken cancellationToken)
    {
        session.Screen.Say($"Storage account {account.DisplayName}: {plan.Cells.Count} measurements in about "
            + $"{TableFormat.Duration(plan.Duration)}; at most {TableFormat.Number(plan.MaxRequests)} requests with "
            + $"{TableFormat.Number(plan.MaxEntities)} entities. "
            + (account.IsEmulator ? "The emulator costs nothing."
                : string.Create(CultureInfo.InvariantCulture, $"Estimated cost: at most {plan.MaxCost:0.00##} US dollars.")));
        await _confirmation.AskAsync(session, $"This loads {account.Name} to its limits.", account.Name, cancellationToken);
    }

    private static async Task<IReadOnlyList<BenchResult>> MeasureAsync(
        CommandSession session, StorageAccount account, BenchPlan plan, CancellationToken cancellationToken)
    {
        // Every response counts: no retries.
        using var measured = StorageAccount.Open(session.Settings.Storage, session.Logs, new StorageOptions { MaxRetries = 0 });
        var name = TablePrefix + RandomNumberGenerator.GetHexString(12, lowercase: true);
        try
        {
            await account.MeasuredTable(name).CreateAsync(cancellationToken);
            var run = new BenchRun(measured.MeasuredTable(name), session.Time);
            return await ShowProgressAsync(session.Screen, plan, progress => run.MeasureAsync(plan, progress, cancellationToken));
        }
        finally
        {
            await DeleteAsync(session, account, name);
        }
    }

    /// <summary>Also after Ctrl+C. A failure is only reported: it must not hide that of the measurement.</summary>
    private static async Task DeleteAsync(CommandSession session, StorageAccount account, string name)
    {
        using var timeout = new CancellationTokenSource(DeletionTimeout, session.Time);
        try
        {
            await account.MeasuredTable(name).DropAsync(timeout.Token);
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            session.Screen.Say($"warning: table {name} could not be deleted: run 'hibp bench tables --clean'");
        }
    }

    private static Task<IReadOnlyList<BenchResult>> ShowProgressAsync(
        Screen screen, BenchPlan plan, Func<IProgress<BenchCell>, Task<IReadOnlyList<BenchResult>>> measure)
    {
        if (!screen.IsLive)
        {
            BenchCell? last = null;
            return measure(new ImmediateProgress<BenchCell>(cell =>
            {
                if (cell.Series != last?.Series)
                    screen.Say($"measuring: {Describe(cell)}");
                last = cell;
            }));
        }
        return ProgressBars.Create(screen.Messages).StartAsync(async context =>
        {
            var task = context.AddTask("opening connections", maxValue: plan.Cells.Count);
            var begun = 0;
            var results = await measure(new ImmediateProgress<BenchCell>(cell =>
            {
                task.Description = Markup.Escape($"{Describe(cell)}, {cell.InFlight} in flight");
                task.Value = begun++;
            }));
            (task.Description, task.Value) = ("measured", task.MaxValue);
            return results;
        });

        static string Describe(BenchCell cell) =>
            $"{cell.Name}, {TableFormat.Count(cell.Rows, "row")}, {TableFormat.Count(cell.Partitions, "partition")}";
    }

    private static async Task CleanAsync(CommandSession session, CancellationToken cancellationToken)
    {
        using var account = await session.OpenAccountAsync(cancellationToken);
        var left = (await account.ListTablesAsync(TablePrefix, cancellationToken)).Where(name => OwnTable().IsMatch(name)).ToList();
        foreach (var name in left)
            await account.MeasuredTable(name).DropAsync(cancellationToken);
        session.Screen.ShowResult(
            new BenchCleanDocument(left),
            left.Count == 0 ? "There are no tables of killed runs."
            : $"{TableFormat.Count(left.Count, "table")} of killed runs deleted: {string.Join(", ", left)}");
    }

    [GeneratedRegex($"^{TablePrefix}[0-9a-f]{{12}}$", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex OwnTable();
}
