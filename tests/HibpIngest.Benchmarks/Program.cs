using System.Runtime.InteropServices;
using HibpIngest.Benchmarks;
using HibpIngest.Benchmarks.Peers;
using HibpIngest.Cli.Samples;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Sql.SqlServer;

const string Usage = """
    Measures the pipeline's stages beside their bare ceilings, in one run, as medians of ratios taken in turn.

      stages [ACCOUNTS] [PAIRS]
          extract (beside unzip, rg and sort, too), scan, copy and upsert (default 400,000 accounts, 5 pairs); exit code
          1 when a stage is under 60% of its ceiling
      ranges [ACCOUNTS] [PAIRS]
          slices with ranges by hash on and off, over a table server that only answers, and the
          SHA-1 of an account (default 80,000 accounts, 7 pairs); exit code 1 where slices take more
          than 2.2 times as long with them, or a SHA-1 more than 600 ns
      sqlserver CONNECTION [ACCOUNTS] [PAIRS]
          copy into a SQL Server (a login that may create databases) beside bare SqlBulkCopy and
          DataTables; exit code 1 where the copy is under 85%
      match CONNECTION|sqlite [ROWS] [PEOPLE] [DOMAINS] [RANGE] [PAIRS]
          matching on a SQL Server beside the same joins in a plain statement, or in SQLite beside only reading the rows
          (default 10,000,000 rows, 100,000 people, 5,000 domains, ranges of 1,000,000, 5 pairs); exit code 1 below 0.8
          (SQLite 0.3) of that, or where the server, if it counts them, read more rows than the load once, the
          subscribers once a range, and the subscriber of each notification
      removal [ACCOUNTS] [PERCENT]
          removal of a breach from the emulator, half of whose accounts are in another one too: by
          its rows, and by the table (default 50,000), with the requests that it takes, while the
          emulator gets PERCENT of the time (default 100)
      throttle [SCALE] [SLICES]
          the upsert stage against a model of the table service's limits, with 1, 24 and 240 slices
          in flight, or SLICES only; exit code 1 where less than 85% of what is permitted is
          reached, more than 10% is refused (20% with ten processes), an entity is written more than
          1.05 times, or a slice is deferred
      throttle load [ACCOUNTS]
          a load under 'hibp run' against the same model (default 480,000 accounts); exit code 1
          where it takes more than 1.3 times what the limits allow
      throttle emulator [ACCOUNTS]
          the same against the emulator behind a proxy that lets 400 entities a second into one
          domain (default 60,000); exit code 1 above 1.4 times
      busy [ACCOUNTS] [SECONDS]
          the upsert stage with 24 slices in flight against an emulator that gets a tenth of the time, with the
          transactions in flight that the throttle finds and with 2 to 384 (default 300,000 accounts, at most 1,800 s
          for each); exit code 1 below 80% of the best fixed number
      spread [FILE] [SCALE] [N] [M]
          a load and a rebuild of 100 million accounts over 1 to 10 storage accounts, with the largest domain, a
          quarter, in 1 to 32 partitions, with and without ranges, simulated in virtual time with the parameters
          in FILE (default tests/HibpIngest.Testing/Simulation/spread.json), one account of SCALE (default 20; five of a rebuild;
          1: all, and only the points that something is demanded of), of N storage accounts or M partitions only;
          exit code 1 where 10 storage accounts and 32 partitions reach less than 85% of what the published limits
          allow, take more than 20 minutes (25 with ranges) or have more than 20% of the requests refused, or
          where one partition doesn't take 2,000 entities a second
      web [REQUESTS] [ROUNDS] [SECONDS]
          the API beside the bare point read of each lookup, and beside Kestrel sending ready bytes
          (default 20,000 requests, 15 rounds), then 2,000 lookups a second for SECONDS (default 60)
          by h2load; exit code 1 where a p99 is above 1.3 times the bare one, a throughput below 0.8
          of it, or any of the 2,000 fails
      passwordsort [ROWS]
          hashes in any order to sorted ranges, beside sort with the same 512 MiB (default 2,000,000
          lines); exit code 1 where it takes more than 2.5 times as long, or more memory
      passwords [ROUNDS] [REQUESTS] [SECONDS]
          ranges of pack, blob and table from a store that answers at once, beside bare reads of the same, from
          memory beside Kestrel sending the same bytes (by wrk), and a table's partition beside a blob on the
          emulator (default 5 rounds, 5,000 requests), then 2,000 a second from packs for SECONDS (default 60) by
          h2load; exit code 1 where pack or blob has a p99 above 1.3 times the bare one or a throughput below
          0.8 of it, memory a throughput below 0.8, or any of the 2,000 fails
      log [ACCOUNTS] [OTHERS]
          a segment of the journal of ACCOUNTS (default 8,000,000) written and read, beside plain reading of the
          same file, and of OTHERS (1,000,000) JSON lines, range scans of SQLite and other codecs; exit code 1
          above 12.9 bytes an account, below 14 times the accounts/s of JSON lines, or if it allocates for each
      rebuild [ROWS] [PAIRS]
          a layout rebuilt from five logged loads of ROWS in all (default 10,000,000): requests beside a replay slice
          by slice, CPU without HTTP, and PAIRS runs (5) into a table server that only answers beside a bare HttpClient
          sending the same; exit code 1 where it saves less than 6 times the requests, makes less than 2 million rows/s
          of one core, takes more than 512 MiB, or is under 0.6 of the bare one
      access [SECONDS] [ROUNDS] [--sql CONNECTION] [--svg FOLDER]
          each request logged in the four published ways (by SQLite, and with --sql by a SQL Server too) and in ours,
          ROUNDS (default 5) with 2,000 connections and 2,000 requests each second at once, 2,000 a second for SECONDS
          (60), and killed in mid-run, all by h2load; plots go to FOLDER; exit code 1 where ours has less
          than 15 times the requests of a message each, or 0.3 of the same server's without a log, a p99 above 1.5
          times that one's and 200 ms, an error, a record too few or too many, or growing memory
      access-hold [SECONDS]
          ours alone at 2,000 requests a second for SECONDS (default 600), by h2load; exit code 1 as above
      callbacks [ACCOUNTS] [SUBSCRIPTIONS] [CALLS]
          a client with SUBSCRIPTIONS (default 10,000,000) and a breach of ACCOUNTS (10,000,000): hashed and tested,
          looked through, and CALLS of it (default 0: all) made with cap 64 to a server that accepts each, beside a bare
          HttpClient; exit code 1 above 700 ns an account, under 2,000 calls a second, where memory
          grows, or where other calls are received than were found
      subscribe [REQUESTS] [NETWORKS]
          requests to subscribe from one network (default 100,000), then from NETWORKS (10,000) at 50 addresses, within
          an hour; exit code 1 where more mails are sent than the limits allow, where refused requests leave rows, or
          where they are handled at less than half the rate of opening them only
      race [ACCOUNTS] [ROUNDS] [STORE]
          'hibp run' beside the pipeline that Have I Been Pwned described, as most people would write it, from the dropped
          zip to the last account written, on SQLite and the emulator, ROUNDS (default 5) times alternately. STORE is
          emulator: 0%, 20% and 100% of ACCOUNTS (60,000) are in the table before; exit code 1 below 2.5 times, or
          above 1.25 times the emulator's own work and 1 s
          answering: a table server that answers at once (try 2,000,000); exit code 1 below 15 times, or 30 times the CPU
          limits: one with the latency and limits of Azure's (try 500,000), as the store is created and with its largest
          domain in 16 partitions; exit code 1 if the latter is below 5 times, or one below 0.95 of what is permitted
      hundred-million [PERCENT] [KILLS] [--sql CONNECTION]
          PERCENT (default 100) of 100 million accounts dropped on 'hibp run' with SQLite or a T-SQL server, ranges and
          journal, on the emulator's blobs and queues and a table server in memory, with a subscriber for each 1,000 and
          an owner for each 20,000. Every account and mail is checked, and a lookup for each 1,000. The process is killed
          KILLS times (default 0, at most 3). Prints first which disk and memory it needs; exit code 1 above 45 minutes
          for 100 million, without kills, or above 4 GiB
      memory [SMALL] [LARGE]
          peak memory of ingest and upsert at two sizes (default 1,000,000 and 10,000,000); exit
          code 1 when it grows by more than 1.3 times
    """;
const double LeastShare = 0.6;
const int ExtractTimes = 8; // extraction is so fast that a single pass over a small zip measures the start of its threads

switch (args)
{
    // Processes that are measured.
    case ["memory-child", var stage, var connection, var file]:
        await MemoryBenchmark.ChildAsync(stage, connection, file);
        return 0;
    case ["race-peer", var connection, var emulator, var work, .. var zips]:
        await PublishedPipeline.ChildAsync(connection, int.Parse(emulator), work, zips);
        return 0;
    case ["passwordsort-child", var list, var work]:
        await PasswordSortBenchmark.ChildAsync(list, work);
        return 0;
    case ["rebuild-child", var at, var connection, var answering, var name]:
        await RebuildBenchmark.ChildAsync(at, connection, answering, name);
        return 0;
    case ["rebuild-bare", var requests, var connection]:
        await RebuildBenchmark.BareAsync(requests, connection);
        return 0;
    case ["access-child", var option, var store]:
        await AccessServer.ChildAsync(option, store);
        return 0;
    case ["callbacks-look", var connection, var file, var secret]:
        await CallbackBenchmark.LookAsync(connection, file, secret);
        return 0;
    case ["callbacks-call", var connection, var file, var secret, var limit, var receiver]:
        await CallbackBenchmark.CallAsync(connection, file, secret, long.Parse(limit), receiver);
        return 0;
}

var folder = Directory.CreateTempSubdirectory("hibp-bench-").FullName;
// A web host takes both signals to stop its server, and the process would go on.
using var interrupted = PosixSignalRegistration.Create(PosixSignal.SIGINT, _ => End(130));
using var terminated = PosixSignalRegistration.Create(PosixSignal.SIGTERM, _ => End(143));
try
{
    return await RunAsync() switch
    {
        true => 0,
        false => 1,
        null => 2,
    };
}
finally
{
    Directory.Delete(folder, recursive: true);
}

void End(int exitCode)
{
    try
    {
        Directory.Delete(folder, recursive: true);
    }
    catch (IOException)
    {
        // A file was created meanwhile.
    }
    Environment.Exit(exitCode);
}

// Returns whether all limits were kept; null if there is no such benchmark.
async Task<bool?> RunAsync()
{
    switch (args)
    {
        case ["stages", ..]:
            var (batches, pairs) = (PreparedLoad.SampleBatches(Number(1, 400_000)).ToList(), new Pairs(Number(2, 5)));
            var zip = Path.Combine(folder, "Large.zip");
            using (var output = File.Create(zip))
                SampleBreach.Write(output, new SampleOptions { Accounts = Number(1, 400_000) * ExtractTimes, Seed = 2 }, default);
            await new ExtractBenchmark(zip).MeasureAsync(pairs);
            await new CopyBenchmark(batches, folder).MeasureAsync(pairs);
            await using (var upsert = await UpsertBenchmark.StartAsync(batches, folder))
                await upsert.MeasureAsync(pairs, Number(2, 5));
            return pairs.Print(LeastShare);
        case ["ranges", ..]:
            return await RangesBenchmark.RunAsync(Number(1, 80_000), Number(2, 7), folder);
        case ["sqlserver", var server, ..]:
            var (copied, copies) = (PreparedLoad.SampleBatches(Number(2, 400_000)).ToList(), new Pairs(Number(3, 5)));
            await SqlServerBenchmark.WithDatabaseAsync(
                server, connection => new SqlServerBenchmark(copied, connection).MeasureAsync(copies));
            return copies.Print(0.85, "copy");
        case ["match", var server, ..]:
            var (within, matches, rows) = (true, new Pairs(Number(6, 5)), Number(2, 10_000_000));
            var range = Number(5, new MailOptions().MatchRows);
            MatchBenchmark Match(IBreachDatabase database) => new(database, rows, Number(3, 100_000), Number(4, 5_000), range);
            if (server == "sqlite")
            {
                var file = Path.Combine(folder, "match.db");
                await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
                await database.UpgradeAsync(CancellationToken.None);
                await Match(database).MeasureAsync(
                    matches, () => Task.FromResult(MatchBenchmark.Scan(file)), async () => BareSqlite.Execute(file, MatchBenchmark.Reset));
                return matches.Print(0.3);
            }
            await SqlServerBenchmark.WithDatabaseAsync(server, async connection =>
            {
                await using var database = SqlServerBreachDatabase.Open(connection, TimeProvider.System, NullLoggerFactory.Instance);
                var match = Match(database);
                await match.MeasureAsync(
                    matches, () => SqlServerBenchmark.JoinAsync(connection, rows, range),
                    () => SqlServerBenchmark.ExecuteAsync(connection, MatchBenchmark.Reset));
                within = await match.CountAsync(() => SqlServerBenchmark.RowsReadAsync(connection));
            });
            return matches.Print(0.8) & within;
        case ["removal", ..]:
            await RemovalBenchmark.RunAsync([.. PreparedLoad.SampleBatches(Number(1, 50_000))], folder, Number(2, 100) / 100.0);
            return true;
        case ["throttle", "load", ..]:
            return await new ThrottledLoad(folder).RunAsync(Number(2, 480_000), new TableLimits(), fakesWrites: true, maxRatio: 1.3);
        case ["throttle", "emulator", ..]:
            var oneDomain = new TableLimits { PartitionRate = 400, OnlyPartition = ThrottledRows.Hot };
            return await new ThrottledLoad(folder).RunAsync(Number(2, 60_000), oneDomain, fakesWrites: false, maxRatio: 1.4);
        case ["throttle", ..]:
            return await ThrottleBenchmark.RunAsync(folder, Number(1, 1), args.Length > 2 ? Number(2, 0) : null);
        case ["busy", ..]:
            return await new BusyBenchmark(folder).RunAsync(Number(1, 300_000), TimeSpan.FromSeconds(Number(2, 1_800)));
        case ["spread", ..]:
            var spread = SpreadParameters.Read(args.Length > 1 ? args[1] : SpreadParameters.DefaultFile);
            var points = SpreadBenchmark.Table.Where(point => (Number(2, 20) > 1 || point.IsDemanded)
                && point.StorageAccounts == Number(3, point.StorageAccounts) && point.Partitions == Number(4, point.Partitions)).ToList();
            return new SpreadBenchmark(spread).Run(points, Number(2, 20), Environment.TickCount & 0xFFFFFF);
        case ["web", ..]:
            await using (var web = new WebBenchmark(rounds: Number(2, 15), requests: Number(1, 20_000)))
                return await web.RunAsync(seconds: Number(3, 60));
        case ["passwordsort", ..]:
            return await PasswordSortBenchmark.RunAsync(Number(1, 2_000_000), folder);
        case ["passwords", ..]:
            await using (var passwords = new PasswordBenchmark(folder, rounds: Number(1, 5), requests: Number(2, 5_000)))
                return await passwords.RunAsync(seconds: Number(3, 60));
        case ["log", ..]:
            return await new LogBenchmark(Number(1, 8_000_000), Number(2, 1_000_000), folder).RunAsync();
        case ["rebuild", ..]:
            return await new RebuildBenchmark(Number(1, 10_000_000), Number(2, 5), folder).RunAsync();
        case ["access", ..]:
            var (sql, drawings) = (Take("--sql"), Take("--svg"));
            return await new AccessBenchmark(folder, sql).RunAsync(Number(1, 60), Number(2, 5), drawings);
        case ["access-hold", ..]:
            return await new AccessBenchmark(folder, null).HoldAsync(Number(1, 600));
        case ["callbacks", ..]:
            return await CallbackBenchmark.RunAsync(Number(1, 10_000_000), Number(2, 10_000_000), Number(3, 0), folder);
        case ["subscribe", ..]:
            return await SubscribeBenchmark.RunAsync(Number(1, 100_000), Number(2, 10_000), folder);
        case ["race", ..]:
            return await new RaceBenchmark(folder, Number(1, 60_000), Number(2, 5)).RunAsync(args.Length > 3 ? args[3] : "emulator");
        case ["hundred-million", ..]:
            if (Take("--sql") is not { } given)
                return await HundredMillionBenchmark.RunAsync(folder, Number(1, 100), Number(2, 0), null);
            var isRight = false;
            await SqlServerBenchmark.WithDatabaseAsync(
                given, async name => isRight = await HundredMillionBenchmark.RunAsync(folder, Number(1, 100), Number(2, 0), name));
            return isRight;
        case ["memory", ..]:
            return await MemoryBenchmark.RunAsync(Number(1, 1_000_000), Number(2, 10_000_000), folder);
        default:
            Console.Error.WriteLine(Usage);
            return null;
    }
}

int Number(int index, int otherwise) => args.Length > index ? int.Parse(args[index]) : otherwise;

string? Take(string name)
{
    var place = Array.IndexOf(args, name);
    if (place < 0 || place + 1 == args.Length)
        return null;
    var value = args[place + 1];
    args = [.. args[..place], .. args[(place + 2)..]];
    return value;
}
