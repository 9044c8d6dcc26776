using System.Globalization;
using HibpIngest.Benchmarks;
using HibpIngest.Cli.Samples;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Extensions.Logging.Abstractions;

const string Usage = """
    Measures the pipeline's stages beside their bare ceilings, in one run, as medians of ratios taken in turn.

      stages [ACCOUNTS] [PAIRS]
          extract, copy and upsert (default 400,000 accounts, 5 pairs); exit code 1 when a stage is
          under 60% of its ceiling
      ranges [ACCOUNTS] [PAIRS]
          slices with ranges by hash on and off, over a table server that only answers, and the
          SHA-1 of an account (default 80,000 accounts, 7 pairs); exit code 1 where slices take more
          than 2.2 times as long with them, or a SHA-1 more than 600 ns
      sqlserver CONNECTION [ACCOUNTS] [PAIRS]
          copy into a SQL Server (a login that may create databases) beside bare SqlBulkCopy and
          DataTables; exit code 1 where the copy is under 85%
      match CONNECTION [ROWS] [PEOPLE] [DOMAINS] [RANGE]
          matching on a SQL Server (default 10,000,000 rows, 100,000 people, 5,000 domains, in
          ranges of 1,000,000); exit code 1 where the server, if it counts them, read more rows than
          the load once, the subscribers once a range, and the subscriber of each notification
      removal [ACCOUNTS] [PERCENT]
          removal of a breach from the emulator, half of whose accounts are in another one too: by
          its rows, and by the table (default 50,000), with the requests that it takes, while the
          emulator gets PERCENT of the time (default 100)
      throttle [SCALE] [SLICES]
          the upsert stage against a model of the table service's limits, with 1, 24 and 240 slices
          in flight, or SLICES only; exit code 1 where less than 85% of what is permitted is
          reached, more than 10% is refused (20% with ten processes), an entity is written more than
          1.05 times, or a slice is put off
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
          in FILE (default spread.json, beside the program), one account of SCALE (default 20, five of a rebuild;
          1: all, and only the points that something is demanded of), of N storage accounts or M partitions only;
          exit code 1 where 10 storage accounts and 32 partitions reach less than 85% of what the published limits
          allow, take more than 20 minutes (25 with ranges) or have more than 20% of the requests refused, or
          where one partition doesn't take 2,000 entities a second
      web [REQUESTS] [ROUNDS] [SECONDS]
          the API beside the bare point read of each lookup, and beside Kestrel sending ready bytes
          (default 20,000 requests, 5 rounds), then 2,000 lookups a second for SECONDS (default 60)
          by h2load; exit code 1 where a p99 is above 1.3 times the bare one, a throughput below 0.8
          of it, or any of the 2,000 fails
      lookups [ACCOUNTS] [DRAWN] [PREFIXES] [LOADING]
          two breaches of ACCOUNTS (default 250,000; one is sensitive), small ones of which one is hidden
          and one removed, and DRAWN accounts (5,000) and PREFIXES (2,000) asked for while a breach of
          LOADING accounts (250,000) is loading; exit code 1 where an answer is not what a script expects
      passwordsort [ROWS]
          hashes in any order to sorted ranges, beside sort with the same 512 MiB (default 2,000,000
          lines); exit code 1 where it takes more than 2.5 times as long, or more memory
      passwords [ROUNDS] [REQUESTS] [SECONDS]
          ranges of pack, blob and table from a store that answers at once, beside bare reads of the same, from
          memory beside Kestrel sending the same bytes (by wrk), and a table's partition beside a blob on the
          emulator (default 5 rounds, 5,000 requests), then 2,000 a second from packs for SECONDS (default 60) by
          h2load; exit code 1 where pack or blob has a p99 above 1.3 times the bare one or a throughput below
          0.8 of it, memory a throughput below 0.8, or any of the 2,000 fails
      passwordimport [ROWS] [DRAWN] [KILLS]
          ROWS hashes of each mode (default 20,000,000) by 'hibp passwords import' into pack and blob on the
          emulator, 100 of their prefixes into table, and DRAWN prefixes (2,000) asked for in each; then imports
          killed KILLS times (10) and run again; exit code 1 where an answer is not what a script expects, or
          where an import takes more than 512 MiB or one into pack more than 2.5 times as long as sort
      appends [APPENDS] [ROWS] [KILLS]
          APPENDS (default 1,000) of ROWS (500) handed in to 'hibp serve' and added by 'hibp run' on the emulator,
          which are killed KILLS times (20), while messages are sent twice and out of order; then repacked; exit
          code 1 where an answer is not what a script expects
      log [ACCOUNTS] [OTHERS]
          a segment of the account log of ACCOUNTS (default 8,000,000) written and read, beside plain reading of the
          same file, and of OTHERS (1,000,000) JSON lines, range scans of SQLite and other codecs; exit code 1
          above 12.9 bytes an account, below 14 times the accounts/s of JSON lines, or if it allocates for each
      rebuild [ROWS] [PAIRS]
          a layout rebuilt from five logged loads of ROWS in all (default 10,000,000): requests beside a replay slice
          by slice, CPU without HTTP, and PAIRS runs (3) into a table server that only answers beside a bare HttpClient
          sending the same; exit code 1 where it saves less than 6 times the requests, makes less than 2 million rows/s
          of one core, takes more than 512 MiB, or is under 0.6 of the bare one
      rebuilds [ACCOUNTS] [KILLS]
          five breaches of ACCOUNTS (default 10,000; one removed, one replaced, one purged, one held) on four emulators,
          rebuilt by 'hibp layout rebuild', killed KILLS times (20), while a sixth is loading; switched to, and back, and
          dropped; exit code 1 where a layout has something else than a script expects
      access [SECONDS] [ROUNDS] [--sql CONNECTION] [--svg FOLDER]
          each request logged in the four published ways (by SQLite, and with --sql by a SQL Server too) and in ours,
          ROUNDS (default 5) with 2,000 connections and 2,000 requests each second at once, 2,000 a second for SECONDS
          (60), and killed in mid-run, all by h2load; figures and plots go to FOLDER; exit code 1 where ours has less
          than 15 times the requests of a message each, or 0.3 of the same server's without a log, a p99 above 1.5
          times that one's and 200 ms, an error, a record too few or too many, or growing memory
      access-draw FOLDER
          the plots of 'access' again, from the figures in FOLDER
      access-hold [SECONDS]
          ours alone at 2,000 requests a second for SECONDS (default 600), by h2load; exit code 1 as above
      access-kills [KILLS] [SECONDS]
          the API killed KILLS times (default 20) under load, and its emulator stopped for SECONDS (60); exit code 1
          where an answer is missing from the log that must not be, or where anything else is answered than is stated
      callbacks [ACCOUNTS] [SUBSCRIPTIONS] [CALLS]
          a client with SUBSCRIPTIONS (default 10,000,000) and a breach of ACCOUNTS (10,000,000): hashed and tested,
          looked through, and CALLS of it (default 0: all) made with cap 64 to a server that accepts each, beside a bare
          HttpClient; exit code 1 above 700 ns an account, under 2,000 calls a second, or where memory grows
      callback-kills [ACCOUNTS] [KILLS]
          two breaches of ACCOUNTS (default 20,000) and two clients, whose server fails, stalls, throttles and refuses by
          turns, called by two 'hibp run', of which one is killed KILLS times (20); exit code 1 where the clients were
          told something else than a script expects
      memory [SMALL] [LARGE]
          peak memory of ingest and upsert at two sizes (default 1,000,000 and 10,000,000); exit
          code 1 when it grows by more than 1.3 times
    """;
const double LeastShare = 0.6;
const int ExtractTimes = 8; // extraction is so fast that a single pass over a small zip measures the start of its threads

if (args is ["memory-child", var stage, var connection, var file])
{
    await MemoryBenchmark.ChildAsync(stage, connection, file);
    return 0;
}

if (args is ["passwordsort-child", var list, var work])
{
    await PasswordSortBenchmark.ChildAsync(list, work);
    return 0;
}

if (args is ["rebuild-child", var at, var emulator, var answering, var name])
{
    await RebuildBenchmark.ChildAsync(at, emulator, answering, name);
    return 0;
}

if (args is ["rebuild-bare", var requests, var to])
{
    await RebuildBenchmark.BareAsync(requests, to);
    return 0;
}

if (args is ["access-child", var option, var store])
{
    await AccessServer.ChildAsync(option, store);
    return 0;
}

if (args is ["callbacks-look", var emulated, var loadedFile, var secretKey])
{
    await CallbackBenchmark.LookAsync(emulated, loadedFile, secretKey);
    return 0;
}

if (args is ["callbacks-call", var storage, var looked, var sealing, var most, var receiver])
{
    await CallbackBenchmark.CallAsync(storage, looked, sealing, long.Parse(most, CultureInfo.InvariantCulture), receiver);
    return 0;
}

var folder = Directory.CreateTempSubdirectory("hibp-bench-").FullName;
try
{
    switch (args)
    {
        case ["stages", ..]:
            var (accounts, count) = (Number(1, 400_000), (int)Number(2, 5));
            var zip = Path.Combine(folder, "Bench.zip");
            using (var output = File.Create(zip))
                SampleBreach.Write(output, new SampleOptions { Accounts = accounts, Seed = 1 }, CancellationToken.None);
            var batches = await CopyBenchmark.ReadAsync(zip, (int)accounts);
            var pairs = new Pairs(count);
            var large = Path.Combine(folder, "Large.zip");
            using (var output = File.Create(large))
                SampleBreach.Write(output, new SampleOptions { Accounts = accounts * ExtractTimes, Seed = 2 }, CancellationToken.None);
            await new ExtractBenchmark(large).MeasureAsync(pairs);
            await new CopyBenchmark(batches, folder).MeasureAsync(pairs);
            await using (var upsert = await UpsertBenchmark.StartAsync(batches, folder))
                await upsert.MeasureAsync(pairs, count);
            return pairs.Print(LeastShare) ? 0 : 1;
        case ["ranges", ..]:
            return (await RangesBenchmark.RunAsync((int)Number(1, 80_000), (int)Number(2, 7), folder)).Holds ? 0 : 1;
        case ["sqlserver", var server, ..]:
            var many = (int)Number(2, 400_000);
            var sample = Path.Combine(folder, "Bench.zip");
            using (var output = File.Create(sample))
                SampleBreach.Write(output, new SampleOptions { Accounts = many, Seed = 1 }, CancellationToken.None);
            var copies = await CopyBenchmark.ReadAsync(sample, many);
            var copied = new Pairs((int)Number(3, 5));
            await SqlServerBenchmark.WithDatabaseAsync(
                server, connection => new SqlServerBenchmark(copies, connection).MeasureAsync(copied));
            return copied.Print(0.85, "copy") ? 0 : 1;
        case ["match", var server, ..]:
            var within = true;
            await SqlServerBenchmark.WithDatabaseAsync(server, async connection =>
            {
                await using var database = SqlServerBreachDatabase.Open(connection, TimeProvider.System, NullLoggerFactory.Instance);
                within =
                    await new MatchBenchmark(database, (int)Number(2, 10_000_000), (int)Number(3, 100_000), (int)Number(4, 5_000),
                        (int)Number(5, new MailOptions().MatchRows)).RunAsync(() => SqlServerBenchmark.RowsReadAsync(connection));
            });
            return within ? 0 : 1;
        case ["removal", ..]:
            var loaded = Path.Combine(folder, "Removal.zip");
            using (var output = File.Create(loaded))
                SampleBreach.Write(output, new SampleOptions { Accounts = Number(1, 50_000), Seed = 1 }, CancellationToken.None);
            await RemovalBenchmark.RunAsync(
                await CopyBenchmark.ReadAsync(loaded, (int)Number(1, 50_000)), folder, Number(2, 100) / 100.0);
            return 0;
        case ["throttle", "load", ..]:
            return await new ThrottledLoad(folder).RunAsync((int)Number(2, 480_000), new TableLimits(), answersWrites: true, most: 1.3)
                ? 0 : 1;
        case ["throttle", "emulator", ..]:
            var oneDomain = new TableLimits { PartitionRate = 400, OnlyPartition = ThrottledRows.Hot };
            return await new ThrottledLoad(folder).RunAsync((int)Number(2, 60_000), oneDomain, answersWrites: false, most: 1.4) ? 0 : 1;
        case ["throttle", ..]:
            return await new ThrottleBenchmark(folder).RunAsync((int)Number(1, 1), args.Length > 2 ? (int)Number(2, 0) : null) ? 0 : 1;
        case ["busy", ..]:
            return await new BusyBenchmark(folder).RunAsync((int)Number(1, 300_000), TimeSpan.FromSeconds(Number(2, 1_800))) ? 0 : 1;
        case ["spread", ..]:
            var spread = SpreadParameters.Read(args.Length > 1 ? args[1] : SpreadParameters.DefaultFile);
            var points = (Number(2, 20) == 1 ? SpreadBenchmark.Demanded : SpreadBenchmark.Table).Where(point =>
                point.StorageAccounts == Number(3, point.StorageAccounts) && point.Partitions == Number(4, point.Partitions)).ToList();
            return new SpreadBenchmark(spread, Console.WriteLine).Run(points, Number(2, 20), Environment.TickCount & 0xFFFFFF) ? 0 : 1;
        case ["web", ..]:
            await using (var web = new WebBenchmark(rounds: (int)Number(2, 5), requests: (int)Number(1, 20_000)))
                return await web.RunAsync(seconds: (int)Number(3, 60)) ? 0 : 1;
        case ["lookups", ..]:
            return await new LookupCampaign(folder, Console.WriteLine).RunAsync(
                (int)Number(1, 250_000), (int)Number(2, 5_000), (int)Number(3, 2_000), (int)Number(4, 250_000),
                seed: Environment.TickCount & 0xFFFFFF) ? 0 : 1;
        case ["passwordsort", ..]:
            return await PasswordSortBenchmark.RunAsync(Number(1, 2_000_000), most: 2.5, folder) ? 0 : 1;
        case ["passwords", ..]:
            await using (var passwords = new PasswordBenchmark(folder, rounds: (int)Number(1, 5), requests: (int)Number(2, 5_000)))
                return await passwords.RunAsync(seconds: (int)Number(3, 60)) ? 0 : 1;
        case ["passwordimport", ..]:
            return await new PasswordCampaign(folder, Console.WriteLine).RunAsync(
                Number(1, 20_000_000), (int)Number(2, 2_000), (int)Number(3, 10), seed: Environment.TickCount & 0xFFFFFF, most: 2.5)
                ? 0 : 1;
        case ["appends", ..]:
            return await new AppendCampaign(folder, Console.WriteLine).RunAsync(
                (int)Number(1, 1_000), (int)Number(2, 500), (int)Number(3, 20), seed: Environment.TickCount & 0xFFFFFF) ? 0 : 1;
        case ["log", ..]:
            return await new LogBenchmark((int)Number(1, 8_000_000), (int)Number(2, 1_000_000), folder).RunAsync() ? 0 : 1;
        case ["rebuild", ..]:
            return (await new RebuildBenchmark((int)Number(1, 10_000_000), (int)Number(2, 3), folder).RunAsync()).All ? 0 : 1;
        case ["rebuilds", ..]:
            return await new RebuildCampaign(folder, Console.WriteLine).RunAsync(
                (int)Number(1, 10_000), (int)Number(2, 20), seed: Environment.TickCount & 0xFFFFFF) ? 0 : 1;
        case ["access", ..]:
            var (sql, drawings) = (Take("--sql"), Take("--svg"));
            return await new AccessBenchmark(folder, sql).RunAsync((int)Number(1, 60), (int)Number(2, 5), drawings) ? 0 : 1;
        case ["access-draw", var plots]:
            await AccessBenchmark.DrawAgainAsync(plots);
            return 0;
        case ["access-hold", ..]:
            return await new AccessBenchmark(folder, null).HoldAsync((int)Number(1, 600)) ? 0 : 1;
        case ["access-kills", ..]:
            return await new AccessKills(folder, Console.WriteLine).RunAsync(
                (int)Number(1, 20), TimeSpan.FromSeconds(Number(2, 60)), seed: Environment.TickCount & 0xFFFFFF) ? 0 : 1;
        case ["callbacks", ..]:
            return (await CallbackBenchmark.RunAsync((int)Number(1, 10_000_000), (int)Number(2, 10_000_000), Number(3, 0), folder)).Holds
                ? 0 : 1;
        case ["callback-kills", ..]:
            return await new CallbackCampaign(folder, Console.WriteLine).RunAsync(
                (int)Number(1, 20_000), (int)Number(2, 20), seed: Environment.TickCount & 0xFFFFFF) ? 0 : 1;
        case ["memory", ..]:
            return await MemoryBenchmark.RunAsync(Number(1, 1_000_000), Number(2, 10_000_000), folder) ? 0 : 1;
        default:
            Console.Error.WriteLine(Usage);
            return 2;
    }
}
finally
{
    Directory.Delete(folder, recursive: true);
}

long Number(int index, long otherwise) => args.Length > index ? long.Parse(args[index], CultureInfo.InvariantCulture) : otherwise;

string? Take(string name)
{
    var place = Array.IndexOf(args, name);
    if (place < 0 || place + 1 == args.Length)
        return null;
    var value = args[place + 1];
    args = [.. args[..place], .. args[(place + 2)..]];
    return value;
}
