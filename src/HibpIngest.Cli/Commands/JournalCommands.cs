using HibpIngest.Api.Lookup;
using HibpIngest.Journal.Files;
using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Merge;
using HibpIngest.Journal.Segments;
using HibpIngest.Journal.Statistics;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Commands;

internal sealed class JournalListCommand : HibpCommand
{
    public JournalListCommand()
        : base("list", "List the loads in the journal. Reads the journal only, not the database.")
    {
        AddExamples(
            ("hibp journal list", "each load with its rows and state"),
            ("hibp journal list --json", "as JSON"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var loads = (await JournalManifest.ReadAsync(services.GetRequiredService<IJournalBlobs>(), cancellationToken))
            .Loads.Select(JournalListedDocument.Of).ToList();
        if (session.Screen.TryShowJson(() => new JournalListDocument(loads)))
            return;
        var table = TableFormat.Create("load", "breach", "state", "rows", "segments", "size", "each").AlignRight(0, 3, 4, 5, 6);
        table.AddRows(loads, load =>
        [
            TableFormat.Number(load.Load), load.Breach ?? "", load.State, load.Rows is { } rows ? TableFormat.Number(rows) : "",
            TableFormat.Number(load.Segments), TableFormat.Bytes(load.Bytes),
            load.Rows > 0 ? FormattableString.Invariant($"{(double)load.Bytes / load.Rows:F1} bytes") : "",
        ]);
        session.Screen.Show(table, ifEmpty: "The journal is empty; a load is written once its accounts are in the tables.");
    }
}

internal sealed class JournalWriteCommand : HibpCommand
{
    private readonly Option<long?> _load = new("--load") { Description = "Only the load with this number.", HelpName = "LOAD" };

    private readonly Option<bool> _again =
        new("--again") { Description = "With --load: check all its segments, and rewrite damaged or missing ones." };

    public JournalWriteCommand()
        : base("write", "Write published loads that the journal lacks, or has in an older state. Hosts do so automatically for new "
            + "loads: run it for loads that are older than the journal, and for those that a host could not write.")
    {
        Add(_load, _again);
        Validators.Add(result =>
        {
            if (result.GetValue(_again) && result.GetValue(_load) is null)
                result.AddError("--again requires --load");
        });
        AddExamples(
            ("hibp journal write", "all loads that are not in the journal; if interrupted, run it again: it resumes"),
            ("hibp journal write --load 7", "load 7 only"),
            ("hibp journal write --load 7 --again", "repairs what 'hibp journal verify' found, while the load's rows are in SQL"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var database = services.GetRequiredService<IBreachDatabase>();
        if (session.Settings.Get<JournalOptions>().Mode == JournalMode.Off)
            throw new NotPossibleException("the journal is off: HIBP_JOURNAL=on turns it on");
        await services.GetRequiredService<IJournalBlobs>().CreateAsync(cancellationToken);
        if (session.Parsed.GetValue(_again) && session.Parsed.GetValue(_load) is { } repaired)
            await services.GetRequiredService<RepairJournal>().RunAsync(new(repaired), cancellationToken);
        var written = new List<JournalWrittenLoad>();
        var lost = new List<JournalWrittenLoad>();
        foreach (var load in await ChooseAsync(session, database, cancellationToken))
        {
            if (load is { Purged: true, JournaledVersion: null, PublishedAt: not null })
            {
                lost.Add(new JournalWrittenLoad(load.Id.Value, load.Breach, 0));
                continue;
            }
            if (!load.AwaitsJournal || await database.GetJournalEntryAsync(load.Id, cancellationToken) is not { } entry)
                continue;
            // Marked open, so that a host completes it if this run is interrupted.
            await services.GetRequiredService<IStoreRegister>().MarkOpenAsync(load.Id, cancellationToken);
            var rows = await ProgressSpinner.ShowAsync(session.Screen, $"load {load.Id} of {load.Breach}: rows written", async progress =>
            {
                await services.GetRequiredService<WriteJournal>().RunAsync(entry, progress, cancellationToken);
                return entry.LastPosition;
            });
            if (await database.GetLoadAsync(load.Id, cancellationToken) is { AwaitsJournal: true })
            {
                throw new NotPossibleException(
                    $"load {load.Id} of {load.Breach} is not in the journal: its breach was changed, or is being removed; "
                    + "run the same command again");
            }
            written.Add(new JournalWrittenLoad(load.Id.Value, load.Breach, rows));
            if (!session.Screen.Json)
                session.Screen.Show($"Load {load.Id} of {load.Breach} is in the journal: {TableFormat.Number(rows)} rows.");
        }
        if (session.Screen.Json)
            session.Screen.ShowJson(new JournalWrittenDocument(written, lost));
        else if (written.Count == 0)
            session.Screen.Show("Every load that can be in the journal is.");
        foreach (var load in lost)
        {
            session.Screen.Say($"load {load.Load} of {load.Breach} was purged before there was a journal: its rows are lost; to add "
                + "it, drop its archive again under the same name (hibp drop FILE --again)");
        }
    }

    private async Task<IReadOnlyList<Load>> ChooseAsync(CommandSession session, ILoads loads, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(_load) is not { } id)
            return await loads.ListLoadsAsync(null, cancellationToken);
        var load = await loads.GetLoadAsync(new(id), cancellationToken)
            ?? throw new NotPossibleException($"there is no load {id}; 'hibp status' lists all loads");
        return load.PublishedAt is not null ? [load]
            : throw new NotPossibleException($"load {id} of {load.Breach} is not in the journal: it is not published (failed, "
                + "replaced, or not matched yet); see: hibp status");
    }
}

internal sealed class JournalVerifyCommand : HibpCommand
{
    private readonly Option<bool> _accounts =
        new("--accounts") { Description = "Also look up each account in the table: some thousands a second." };

    public JournalVerifyCommand()
        : base("verify", "Read the whole journal, check all checksums, and compare it with the database. Lists all faults, and exits "
            + "with 1 if there are any.")
    {
        Add(_accounts);
        AddExamples(
            ("hibp journal verify", "every published load, segment and block"),
            ("hibp journal verify --accounts", "and whether the table has each account with its mark"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var began = session.Time.GetTimestamp();
        var (faults, rows, accounts) = (new List<string>(), 0L, 0L);
        var manifest = await JournalManifest.ReadAsync(services.GetRequiredService<IJournalBlobs>(), cancellationToken);
        var known = (await services.GetRequiredService<IBreachDatabase>().ListLoadsAsync(null, cancellationToken))
            .ToDictionary(load => load.Id);
        foreach (var load in known.Values.Where(load => load.PublishedAt is not null))
        {
            if (!load.IsJournaled)
            {
                var why = load.JournalError is { } reason ? $": {reason}" : "; run: hibp journal write";
                faults.Add($"load {load.Id} of {load.Breach} is not in the journal{why}");
                continue;
            }
            try
            {
                var before = rows;
                rows += await ProgressSpinner.ShowAsync(
                    session.Screen, $"load {load.Id} of {load.Breach}: rows read back",
                    progress => services.GetRequiredService<VerifyJournal>().RunAsync(load.Id, progress, cancellationToken));
            }
            catch (HibpException e) when (e is not UnavailableException)
            {
                faults.Add(e.Message);
            }
        }
        foreach (var load in manifest.Loads)
        {
            if (load.State == JournaledState.Counts && known.GetValueOrDefault(new(load.Document!.Load)) is not { PublishedAt: not null })
            {
                faults.Add($"folder '{load.Folder}' is current in the journal, and in the database no such load is: was one of the two "
                    + "restored?");
            }
            if (load.State == JournaledState.Removed && load.Blobs.Count > 1)
            {
                faults.Add(
                    $"folder '{load.Folder}' is of a load that was removed, and still has blobs ({load.Blobs.Count - 1}); run: hibp "
                    + "journal repair");
            }
        }
        if (session.Parsed.GetValue(_accounts) && faults.Count == 0)
        {
            var reads = ActivatorUtilities.CreateInstance<LayoutReads>(services);
            var compare = new CompareAccounts(
                services.GetRequiredService<IJournalBlobs>(), reads, session.Settings.Get<UpsertOptions>().TransactionsInFlight);
            foreach (var load in manifest.Counting)
            {
                var missing = await ProgressSpinner.ShowAsync(
                    session.Screen, $"load {load.Document!.Load} of {load.Document.Breach}: accounts looked up",
                    progress => compare.RunAsync(load, progress, cancellationToken));
                accounts += load.Document.Rows;
                if (missing > 0)
                {
                    faults.Add(
                        $"{TableFormat.Number(missing)} accounts of load {load.Document.Load} of {load.Document.Breach} lack its mark in "
                        + $"the table: hibp load requeue {load.Document.Breach}");
                }
            }
        }
        if (!session.Screen.TryShowJson(() => new JournalVerifiedDocument(manifest.Counting.Count(), rows, accounts, faults)))
        {
            foreach (var fault in faults)
                session.Screen.Say(fault);
            var took = session.Time.GetElapsedTime(began);
            session.Screen.Show(
                $"{TableFormat.Number(rows)} rows of {manifest.Counting.Count()} loads were read back in {TableFormat.Duration(took)}"
                + (accounts > 0 ? $", {TableFormat.Number(accounts)} looked up" : "")
                + (faults.Count == 0 ? ": all of it is as it should be." : $"; {faults.Count} things are not as they should be."));
        }
        ExitCode = faults.Count == 0 ? 0 : 1;
    }
}

internal sealed class JournalRepairCommand : HibpCommand
{
    private const string Word = "repair";

    private readonly Option<bool> _all =
        new("--all") { Description = "Include removed loads without remaining blobs: each takes a scan of all tables." };

    private readonly Confirmation _confirmation = new();

    public JournalRepairCommand()
        : base("repair", "Delete the remains of removed loads: their blobs in the journal, and their marks in the tables of all "
            + "layouts. Scans the tables once for each such load. It can't be undone. If interrupted, run the same command again: it "
            + "resumes.")
    {
        Add(_all, _confirmation.Yes);
        AddExamples(
            ("hibp journal repair", "after 'hibp journal verify' has found blobs of removed loads; asks for the word 'repair'"),
            ("hibp journal repair --yes", "without asking, for scripts"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "journal repair");
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var repair = services.GetRequiredService<RepairRemoved>();
        var plan = await repair.PlanAsync(session.Parsed.GetValue(_all), cancellationToken);
        foreach (var line in plan.Skipped)
            session.Screen.Say(line);
        var repaired = new JournalRepaired(0, 0, 0);
        if (plan.Loads.Count > 0)
        {
            await _confirmation.AskAsync(
                session, $"This deletes {TableFormat.Number(plan.Loads.Sum(load => load.Blobs))} blobs of {plan.Loads.Count} removed loads "
                    + "in the journal, and their marks in all tables. It can't be undone, and is called 'repair'.", Word,
                cancellationToken);
            repaired = await StatusText.ShowAsync(
                session.Screen, session.Time, "repairing the journal",
                show => repair.RunAsync(plan, new ImmediateProgress<string>(show), cancellationToken));
        }
        session.Screen.ShowResult(new JournalRepairedDocument(repaired.Loads, repaired.Blobs, repaired.Marks, plan.Skipped),
            repaired is { Blobs: 0, Marks: 0 }
            ? "Nothing is left of removed loads."
            : $"{TableFormat.Number(repaired.Blobs)} blobs of {repaired.Loads} removed loads and {TableFormat.Number(repaired.Marks)} "
                + "marks in the tables are deleted.");
    }
}

internal sealed class JournalExportCommand : HibpCommand
{
    private readonly Argument<string> _folder = new("FOLDER") { Description = "Target folder; created if it doesn't exist." };

    public JournalExportCommand()
        : base("export", "Copy the published loads of the journal into a folder, and verify each segment. If interrupted, run the same "
            + "command again: it resumes. The folder contains every address: protect it like the store.")
    {
        Add(_folder);
        AddExamples(("hibp journal export /backup/journal", "a backup from which all tables can be rebuilt"));
    }

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        CopyAsync(session, session.Parsed.GetValue(_folder)!, null, cancellationToken);

    public static async Task CopyAsync(CommandSession session, string folder, BlockCodec? codec, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenStorageAsync(cancellationToken);
        JournalCopied? copied = null;
        await ProgressSpinner.ShowAsync(session.Screen, "rows copied", async progress =>
        {
            copied = await new CopyJournal(services.GetRequiredService<IJournalBlobs>(), new FolderJournal(folder)).RunAsync(
                codec, new ImmediateProgress<(long Done, long All)>(rows => progress.Report(rows.Done)), cancellationToken);
            return copied.Rows;
        });
        session.Screen.ShowResult(new JournalCopiedDocument(copied!.Loads, copied.Segments, copied.Rows, copied.Bytes),
            $"{copied!.Loads} loads are in {folder}: {TableFormat.Number(copied.Rows)} rows in {copied.Segments} segments, "
            + $"{TableFormat.Bytes(copied.Bytes)}, verified byte by byte.");
    }
}

internal sealed class JournalRewriteCommand : HibpCommand
{
    private readonly Argument<string> _folder = new("FOLDER") { Description = "Target folder; created if it doesn't exist." };
    private readonly Option<BlockCodec> _codec = new("--codec")
    {
        Description = "brotli (a quarter smaller, a third of the read speed), lz4 (what hosts write) or none.",
        HelpName = "brotli|lz4|none",
        DefaultValueFactory = _ => BlockCodec.Brotli,
    };

    public JournalRewriteCommand()
        : base("rewrite", "Copy the published loads of the journal into a folder with another compression, for storage that is seldom "
            + "read. The journal itself is not changed.")
    {
        Add(_folder, _codec);
        AddExamples(("hibp journal rewrite /cold/journal", "the same rows, a quarter smaller"));
    }

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        JournalExportCommand.CopyAsync(session, session.Parsed.GetValue(_folder)!, session.Parsed.GetValue(_codec), cancellationToken);
}

internal sealed class JournalStatsCommand : HibpCommand
{
    private const int LargestDomains = 25;
    private const int MaxOverlaps = 15;

    private readonly Option<string?> _svg = new("--svg") { Description = "Also draw the figures into this file.", HelpName = "FILE" };

    private readonly Option<string?> _temp =
        new("--temp") { Description = "Folder for sorting, some 21 bytes a row. Default: the system's.", HelpName = "FOLDER" };

    public JournalStatsCommand()
        : base("stats", "Count the distinct accounts in the journal: of each breach, of the largest domains, and those that breaches "
            + "share. Reads the journal once, in bounded memory, and not the database.")
    {
        Add(_svg, _temp);
        AddExamples(
            ("hibp journal stats", "as tables"),
            ("hibp journal stats --svg log.svg", "also as a picture"),
            ("hibp journal stats --json", "as JSON, with all pairs of breaches that share an account"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var manifest = await JournalManifest.ReadAsync(services.GetRequiredService<IJournalBlobs>(), cancellationToken);
        var merge = new MergeAccounts(session.Parsed.GetValue(_temp) ?? Path.GetTempPath());
        JournalFigures? figures = null;
        await ProgressSpinner.ShowAsync(session.Screen, "rows counted", async progress =>
        {
            figures = await JournalStatistics.CountAsync(
                services.GetRequiredService<IJournalBlobs>(), merge, [.. manifest.Counting], LargestDomains, progress,
                cancellationToken);
            return figures.Rows;
        });
        if (session.Parsed.GetValue(_svg) is { } file)
            await File.WriteAllTextAsync(file, StatsDrawing.Draw(figures!), cancellationToken);
        if (session.Screen.TryShowJson(() => figures!))
            return;
        session.Screen.Show(
            $"{TableFormat.Number(figures!.Accounts)} accounts of {TableFormat.Number(figures.Domains)} domains are in "
            + $"{TableFormat.Number(figures.Rows)} rows; {TableFormat.Number(figures.AccountsInSeveral)} of them are in several "
            + "breaches.");
        Show(
            session, ["breach", "accounts", "rows"],
            figures.Breaches.Select(one => (string[])[one.Name, TableFormat.Number(one.Accounts), TableFormat.Number(one.Rows)]));
        Show(session, ["domain", "accounts"], figures.LargestDomains.Select(one => (string[])[one.Name, TableFormat.Number(one.Accounts)]));
        Show(
            session, ["in both", "accounts"],
            figures.Overlaps.Take(MaxOverlaps).Select(one => (string[])[$"{one.One}, {one.Other}", TableFormat.Number(one.Accounts)]));
    }

    private static void Show(CommandSession session, string[] headings, IEnumerable<string[]> lines)
    {
        var table = TableFormat.Create(headings).AlignRight([.. Enumerable.Range(1, headings.Length - 1)]);
        table.AddRows(lines, line => line);
        if (table.HasRows)
            session.Screen.Show(table);
    }
}
