using HibpIngest.Api.Lookup;
using HibpIngest.Journal.Files;
using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Merge;
using HibpIngest.Journal.Segments;
using HibpIngest.Journal.Statistics;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Cli.Commands;

internal sealed class JournalCommands() : CommandGroup(
    "log", "Look after the account log: every load as it was written, from which tables can be made again.", new JournalListCommand(),
    new JournalWriteCommand(), new JournalVerifyCommand(), new JournalRepairCommand(), new JournalExportCommand(),
        new JournalStatsCommand(),
    new JournalRewriteCommand());

internal sealed class JournalListCommand : HibpCommand
{
    public JournalListCommand()
        : base("list", "List what the account log has, load by load. Asks the log alone, and no database.")
    {
        Examples =
        [
            ("hibp log list", "each load with its rows, and whether it counts"),
            ("hibp log list --json", "the same for a program"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var loads = (await JournalManifest.ReadAsync(services.GetRequiredService<IJournalBlobs>(), cancellationToken))
            .Loads.Select(JournalListedDocument.Of).ToList();
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(new JournalListDocument(loads), Documents.Default.JournalListDocument);
            return 0;
        }
        if (loads.Count == 0)
        {
            session.Screen.Show("The account log is empty; a load is written into it once its accounts are in the tables.");
            return 0;
        }
        var table = TableFormat.Create("load", "breach", "state", "rows", "segments", "size", "each");
        foreach (var column in (int[])[0, 3, 4, 5, 6])
            table.Columns[column].RightAligned();
        foreach (var load in loads)
        {
            table.AddRow(
                new Text(TableFormat.Number(load.Load)), new Text(load.Breach ?? ""), new Text(load.State),
                new Text(load.Rows is { } rows ? TableFormat.Number(rows) : ""), new Text(TableFormat.Number(load.Segments)),
                new Text(TableFormat.Bytes(load.Bytes)),
                new Text(load.Rows > 0 ? FormattableString.Invariant($"{(double)load.Bytes / load.Rows:F1} bytes") : ""));
        }
        session.Screen.Show(table);
        return 0;
    }
}

internal sealed class JournalWriteCommand : HibpCommand
{
    private readonly Option<long?> _load = new("--load") { Description = "Number of one load; without it, of all.", HelpName = "LOAD" };

    private readonly Option<bool> _again = new("--again")
    {
        Description = "With --load: look at every segment of it, and write those anew that are damaged or missing.",
    };

    public JournalWriteCommand()
        : base(
            "write",
            "Write loads that count and are not in the account log, or not as they are by now. A host does so by itself for loads that "
            + "it takes on: by hand it is for those from before there was a log, and for what a host could not write.")
    {
        Add(_load);
        Add(_again);
        Validators.Add(result =>
        {
            if (result.GetValue(_again) && result.GetValue(_load) is null)
                result.AddError("--again says something only with --load");
        });
        Examples =
        [
            ("hibp log write", "whatever is not logged; broken off, it is given again and goes on"),
            ("hibp log write --load 7", "load 7 alone"),
            ("hibp log write --load 7 --again", "what hibp log verify has found damaged or missing of it, while its rows are in SQL"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var database = services.GetRequiredService<IBreachDatabase>();
        if (session.Settings.Get<JournalOptions>().Mode == JournalMode.Off)
            throw new NotPossibleException("the account log is off: HIBP_JOURNAL=on turns it on");
        await services.GetRequiredService<IJournalBlobs>().CreateAsync(cancellationToken);
        if (session.Parsed.GetValue(_again) && session.Parsed.GetValue(_load) is { } repaired)
            await services.GetRequiredService<RepairJournal>().RunAsync(repaired, cancellationToken);
        var written = new List<JournalWrittenLoad>();
        var lost = new List<JournalWrittenLoad>();
        foreach (var load in await ChooseAsync(session, database, cancellationToken))
        {
            if (load is { Purged: true, LoggedVersion: null, PublishedAt: not null })
            {
                lost.Add(new JournalWrittenLoad(load.Id, load.Breach, 0));
                continue;
            }
            if (!load.WaitsForLog || await database.GetLogEntryAsync(load.Id, cancellationToken) is not { } entry)
                continue;
            // Marked open, so that a host completes it if this run is interrupted.
            await services.GetRequiredService<IStoreRegister>().MarkOpenAsync(load.Id, cancellationToken);
            var rows = await ProgressSpinner.ShowAsync(session.Screen, $"load {load.Id} of {load.Breach}: rows logged", async progress =>
            {
                await services.GetRequiredService<WriteJournal>().RunAsync(entry, progress, cancellationToken);
                return entry.LastPosition;
            });
            if (await database.GetLoadAsync(load.Id, cancellationToken) is { WaitsForLog: true })
            {
                throw new NotPossibleException(
                    $"load {load.Id} of {load.Breach} is not logged: its breach has just changed, or it is being removed; run this "
                    + "again");
            }
            written.Add(new JournalWrittenLoad(load.Id, load.Breach, rows));
            if (!session.Screen.Json)
                session.Screen.Show($"Load {load.Id} of {load.Breach} is logged: {TableFormat.Number(rows)} rows.");
        }
        if (session.Screen.Json)
            session.Screen.ShowJson(new JournalWrittenDocument(written, lost), Documents.Default.JournalWrittenDocument);
        else if (written.Count == 0)
            session.Screen.Show("Every load that can be logged is.");
        foreach (var load in lost)
        {
            session.Screen.Say($"load {load.Load} of {load.Breach} was purged before there was a log: its rows are gone; to have it "
                + "logged, drop its archive again under the same name");
        }
        return 0;
    }

    private async Task<IReadOnlyList<Load>> ChooseAsync(CommandSession session, ILoads loads, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(_load) is not { } id)
            return await loads.ListLoadsAsync(null, cancellationToken);
        var load = await loads.GetLoadAsync(id, cancellationToken)
            ?? throw new NotPossibleException($"there is no load {id}; hibp status lists those there are");
        return load.PublishedAt is not null ? [load]
            : throw new NotPossibleException($"load {id} of {load.Breach} doesn't count (failed, replaced or not matched yet): it is not "
                + "logged");
    }
}

internal sealed class JournalVerifyCommand : HibpCommand
{
    private readonly Option<bool> _accounts = new("--accounts")
    {
        Description = "Look each account up in the table, too: some thousands a second.",
    };

    public JournalVerifyCommand()
        : base(
            "verify",
            "Read every byte of the account log, hold every checksum against it, and compare what it has with what the database says. Ends "
            + "with 1 where something is not right, having named all of it.")
    {
        Add(_accounts);
        Examples =
        [
            ("hibp log verify", "every load that counts, every segment, every block"),
            ("hibp log verify --accounts", "and whether the table has each account with its mark"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var began = session.Time.GetTimestamp();
        var (faults, rows, accounts) = (new List<string>(), 0L, 0L);
        var manifest = await JournalManifest.ReadAsync(services.GetRequiredService<IJournalBlobs>(), cancellationToken);
        var known = (await services.GetRequiredService<IBreachDatabase>().ListLoadsAsync(null, cancellationToken))
            .ToDictionary(load => load.Id);
        foreach (var load in known.Values.Where(load => load.PublishedAt is not null))
        {
            if (!load.IsLogged)
            {
                var why = load.LogError is { } reason ? $": {reason}" : "; hibp log write";
                faults.Add($"load {load.Id} of {load.Breach} is not logged{why}");
                continue;
            }
            try
            {
                var before = rows;
                rows += await ProgressSpinner.ShowAsync(
                    session.Screen, $"load {load.Id} of {load.Breach}: rows read back",
                    progress => services.GetRequiredService<VerifyJournal>().RunAsync(load.Id, progress, cancellationToken));
            }
            catch (HibpException e) when (e is not StoreUnavailableException)
            {
                faults.Add(e.Message);
            }
        }
        foreach (var load in manifest.Loads)
        {
            if (load.State == JournaledState.Counts && known.GetValueOrDefault(load.Document!.Load) is not { PublishedAt: not null })
            {
                faults.Add($"folder '{load.Folder}' counts in the account log, and in the database no such load does: was one of "
                    + "the two restored?");
            }
            if (load.State == JournaledState.Removed && load.Blobs.Count > 1)
            {
                faults.Add(
                    $"folder '{load.Folder}' is of a load that was removed, and still has {load.Blobs.Count - 1} blobs: hibp log repair");
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
                        + $"the table: hibp requeue {load.Document.Breach}");
                }
            }
        }
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new JournalVerifiedDocument(manifest.Counting.Count(), rows, accounts, faults), Documents.Default.JournalVerifiedDocument);
        }
        else
        {
            foreach (var fault in faults)
                session.Screen.Say(fault);
            var took = session.Time.GetElapsedTime(began);
            session.Screen.Show(
                $"{TableFormat.Number(rows)} rows of {manifest.Counting.Count()} loads were read back in {TableFormat.Duration(took)}"
                + (accounts > 0 ? $", {TableFormat.Number(accounts)} looked up" : "")
                + (faults.Count == 0 ? ": all of it is as it should be." : $"; {faults.Count} things are not as they should be."));
        }
        return faults.Count == 0 ? 0 : 1;
    }
}

internal sealed class JournalRepairCommand : HibpCommand
{
    private const string Word = "repair";

    private readonly Option<bool> _all = new("--all")
    {
        Description = "Go through every removed load that the database no longer has, also where no blob is left: each is a walk over all "
            + "tables.",
    };

    private readonly Confirmation _confirmation = new();

    public JournalRepairCommand()
        : base(
            "repair",
            "Delete what is left of removed loads: their blobs in the account log, and their marks in the tables of all layouts, which are "
            + "read once for each such load. It can't be undone; interrupted, it is run again.")
    {
        Add(_all);
        Add(_confirmation.Yes);
        Examples =
        [
            ("hibp log repair", "after 'hibp log verify' has found blobs of removed loads; has the word 'repair' typed first"),
            ("hibp log repair --yes", "the same in a script, where nobody can be asked"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "log repair");
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
                + "in the account log, and takes their marks off all accounts. It can't be undone, and is called 'repair'.", Word,
                cancellationToken);
            repaired = await StatusText.ShowAsync(
                session.Screen, session.Time, "repairing the account log",
                show => repair.RunAsync(plan, new ImmediateProgress<string>(show), cancellationToken));
        }
        session.Screen.ShowResult(
            new JournalRepairedDocument(repaired.Loads, repaired.Blobs, repaired.Marks, plan.Skipped),
            Documents.Default.JournalRepairedDocument,
            repaired is { Blobs: 0, Marks: 0 }
            ? "Nothing is left of removed loads."
            : $"{TableFormat.Number(repaired.Blobs)} blobs of {repaired.Loads} removed loads are deleted, and "
            + $"{TableFormat.Number(repaired.Marks)} marks are off the tables.");
        return 0;
    }
}

internal sealed class JournalExportCommand : HibpCommand
{
    private readonly Argument<string> _folder = new("FOLDER") { Description = "Where it goes; made where it is missing." };

    public JournalExportCommand()
        : base(
            "export",
            "Copy what counts of the account log into a folder, as it is, each segment read back. Broken off, it is given again and goes "
            + "on. The folder then holds every address: keep it as you keep the store.")
    {
        Add(_folder);
        Examples = [("hibp log export /backup/account-log", "a backup from which every table can be made again")];
    }

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        CopyAsync(session, session.Parsed.GetValue(_folder)!, null, cancellationToken);

    public static async Task<int> CopyAsync(CommandSession session, string folder, BlockCodec? codec, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenStorageAsync(cancellationToken);
        JournalCopied? copied = null;
        await ProgressSpinner.ShowAsync(session.Screen, "rows copied", async progress =>
        {
            copied = await new CopyJournal(services.GetRequiredService<IJournalBlobs>(), new FolderJournal(folder)).RunAsync(
                codec, new ImmediateProgress<(long Done, long All)>(rows => progress.Report(rows.Done)), cancellationToken);
            return copied.Rows;
        });
        session.Screen.ShowResult(
            new JournalCopiedDocument(copied!.Loads, copied.Segments, copied.Rows, copied.Bytes), Documents.Default.JournalCopiedDocument,
            $"{copied!.Loads} loads are in {folder}: {TableFormat.Number(copied.Rows)} rows in {copied.Segments} segments, "
            + $"{TableFormat.Bytes(copied.Bytes)}, every byte read back.");
        return 0;
    }
}

internal sealed class JournalRewriteCommand : HibpCommand
{
    private readonly Argument<string> _folder = new("FOLDER") { Description = "Where it goes; made where it is missing." };
    private readonly Option<BlockCodec> _codec = new("--codec")
    {
        Description = "brotli: a third smaller, a fifth as fast to read; lz4: as hosts write it; none.",
        HelpName = "brotli|lz4|none",
        DefaultValueFactory = _ => BlockCodec.Brotli,
    };

    public JournalRewriteCommand()
        : base(
            "rewrite",
            "Copy what counts of the account log into a folder, compressed otherwise: for storage that is seldom read. The log itself "
            + "stays as it is.")
    {
        Add(_folder);
        Add(_codec);
        Examples = [("hibp log rewrite /cold/account-log", "the same rows, a third smaller")];
    }

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken) =>
        JournalExportCommand.CopyAsync(session, session.Parsed.GetValue(_folder)!, session.Parsed.GetValue(_codec), cancellationToken);
}

internal sealed class JournalStatsCommand : HibpCommand
{
    private const int LargestDomains = 25;
    private const int MaxOverlaps = 15;

    private readonly Option<string?> _svg = new("--svg") { Description = "Draw the figures into this file, too.", HelpName = "FILE" };

    private readonly Option<string?> _temp = new("--temp")
    {
        Description = "Folder for what is sorted on disk meanwhile: some 21 bytes a row. Without it, the system's.",
        HelpName = "FOLDER",
    };

    public JournalStatsCommand()
        : base(
            "stats",
            "Count the accounts of the log exactly: those of each breach, which is the number that may honestly be told of it, of the "
            + "largest domains, and those that breaches share. Reads the log once, in bounded memory; asks no database.")
    {
        Add(_svg);
        Add(_temp);
        Examples =
        [
            ("hibp log stats", "the figures as tables"),
            ("hibp log stats --svg log.svg", "and as a picture"),
            ("hibp log stats --json", "all breaches, and all pairs of them that share an account"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
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
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(figures!, Documents.Default.JournalFigures);
            return 0;
        }
        session.Screen.Show(
            $"{TableFormat.Number(figures!.Accounts)} accounts of {TableFormat.Number(figures.Domains)} domains are in "
            + $"{TableFormat.Number(figures.Rows)} rows; {TableFormat.Number(figures.AccountsInSeveral)} of them are in several breaches.");
        Show(session, "breach", figures.Breaches.Select(one => (one.Name, one.Accounts, (long?)one.Rows)), "rows");
        Show(session, "domain", figures.LargestDomains.Select(one => (one.Name, one.Accounts, (long?)null)), "");
        Show(
            session, "in both", figures.Overlaps.Take(MaxOverlaps).Select(one => ($"{one.One}, {one.Other}", one.Accounts, (long?)null)),
            "");
        return 0;
    }

    private static void Show(CommandSession session, string what, IEnumerable<(string Name, long Accounts, long? Rows)> lines, string rows)
    {
        var table = TableFormat.Create([what, "accounts", .. rows.Length > 0 ? [rows] : (string[])[]]);
        for (var column = 1; column < table.Columns.Count; column++)
            table.Columns[column].RightAligned();
        var any = false;
        foreach (var line in lines)
        {
            any = true;
            table.AddRow([
                new Text(line.Name), new Text(TableFormat.Number(line.Accounts)),
                .. line.Rows is { } number ? [new Text(TableFormat.Number(number))] : (Text[])[]]);
        }
        if (any)
            session.Screen.Show(table);
    }
}
