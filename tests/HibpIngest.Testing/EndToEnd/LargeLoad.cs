using System.IO.Compression;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Storage.Sql;
using HibpIngest.Storage.Sql.SqlServer;
using MimeKit;

namespace HibpIngest.Testing;

/// <summary>
/// One breach of many random accounts under <c>hibp run</c>, with ranges, journal and a subscriber for each thousandth account. Its tables
/// are a <see cref="MarkTableServer"/>; blobs and queues are the emulator's, on disk. Afterwards each account is looked for in both
/// tables, some through the API, and every mail is compared. The expectation comes from the sample's function alone. A notification that
/// was mailed twice, as may happen after a kill, counts once: its second file replaces the first.
/// </summary>
/// <param name="folder">For the archive, the database, the emulator's data and the mails.</param>
/// <param name="isTimePassed">Moves the stores' time after a kill, instead of waiting until leases expire.</param>
/// <param name="server">Connection string of an empty database of a T-SQL server; null: SQLite.</param>
internal sealed class LargeLoad(string folder, int accounts, bool isTimePassed, Action<string> report, string? server = null)
{
    public const int MaxKills = 3;
    private const string Breach = "Large";
    private const int AccountsPerPerson = 1_000;
    private const int AccountsPerDomain = 20_000;
    private const int MaxConcurrentLookups = 32;

    // So small that the mail to their owners lists all accounts: of the largest, 11 in a million, and at most 10,000 are listed.
    private const int MinRank = 1_024;

    // The archive takes 15, its copy in the emulator too, the database 42 and the journal 10; the rest is for SQLite's log.
    private const long DiskBytesPerAccount = 100;

    // The dedupe set takes up to 24, the table server 16 of a hundred million.
    private const long MemoryBytesPerAccount = 40;

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan ReportInterval = TimeSpan.FromSeconds(15);
    private static readonly TimeSpan Timeout = TimeSpan.FromHours(4);

    private readonly SampleAccounts _sample = new(1);
    private readonly Dictionary<string, string> _variables = new()
    {
        ["HIBP_DATABASE"] = server ?? Path.Combine(folder, "hibp.db"),
        ["HIBP_MAIL"] = $"pickup:{folder}/mail",
        // So that mailing takes seconds, and the process can be killed meanwhile.
        ["HIBP_MAILSPERSECOND"] = $"{Math.Clamp(accounts / 10_000, 50, 1_000)}",
        ["HIBP_DEDUPECAP"] = $"{accounts}",
    };

    private readonly string _zip = Path.Combine(folder, $"{Breach}.zip");
    private double _cpu;
    private double _peakMiB;

    private string EmulatorFolder => Path.Combine(folder, "emulator");

    private string MailFolder => Path.Combine(folder, "mail");

    /// <param name="kills">How often the process is killed: at most <see cref="MaxKills"/>, while it copies, upserts and mails.</param>
    public async Task<LargeLoadFigures> RunAsync(int kills)
    {
        var domains = SubscribedDomains();
        CheckRoom();
        var began = Stopwatch.GetTimestamp();
        WriteArchive();
        report($"archive of {new FileInfo(_zip).Length / 1e6:N0} MB written in {Stopwatch.GetElapsedTime(began).TotalSeconds:F0} s");

        await using var emulator = await AzuriteEmulator.StartAsync(
            new AzuriteOptions { DataFolder = EmulatorFolder }, CancellationToken.None);
        await using var tables = await MarkTableServer.StartAsync(
            ConnectionStrings.Endpoint(emulator.ConnectionString, "Table"), accounts, domains);
        _variables["HIBP_STORAGE"] = ConnectionStrings.WithTables(emulator.ConnectionString, tables.Address);
        var host = await StartAsync();
        try
        {
            await SucceedAsync("subscribers", "import", WriteSubscribers(domains));
            await using SqlBreachDatabase database = server is null
                ? SqliteBreachDatabase.Open(_variables["HIBP_DATABASE"], TimeProvider.System)
                : SqlServerBreachDatabase.Open(server, TimeProvider.System, NullLoggerFactory.Instance);
            var (emulators, servers) = (new ProcessCpu(emulator.ProcessId), new ProcessCpu(Environment.ProcessId));
            var dropped = TimeProvider.System.GetUtcNow();
            var drop = SucceedAsync("drop", _zip, "--verified", "true");
            (string Stage, Func<Load, bool> IsReached)[] moments =
            [
                ("copying", load => load.State == LoadState.Ingesting && load.Accounts > accounts / 3),
                ("upserting", load => load.State is LoadState.Ingesting or LoadState.Upserting && load.Entities > accounts / 2),
                ("mailing", load => load.State == LoadState.Notifying && load.Notifications.Sent > 0),
            ];
            foreach (var (stage, isReached) in moments.Take(kills))
            {
                if ((await WaitAsync(host, database, load => isReached(load) || load.State == LoadState.Done)).State == LoadState.Done)
                    throw new InvalidOperationException($"the load was done before its process was killed while {stage}");
                host = await KillAsync(host, stage);
            }
            var load = await WaitAsync(host, database, load => load is { State: LoadState.Done, IsJournaled: true });
            await drop;
            Sample(host);
            double SecondsUntil(DateTimeOffset? time) => (time!.Value - dropped).TotalSeconds;
            var figures = new LargeLoadFigures(
                SecondsUntil(load.IngestedAt), SecondsUntil(load.UpsertedAt), SecondsUntil(load.FinishedAt), tables.Requests,
                tables.Entities, _cpu, emulators.Seconds, servers.Seconds, _peakMiB,
                server is null ? new FileInfo(_variables["HIBP_DATABASE"]).Length / 1e6 : double.NaN,
                new DirectoryInfo(EmulatorFolder).EnumerateFiles("*", SearchOption.AllDirectories).Sum(file => file.Length) / 1e6);
            report($"{figures}");
            CheckLoad(load, domains.Count);
            var expected = CheckTables(tables, domains);
            CheckMails(expected);
            await SucceedAsync("journal", "verify");
            report($"{await CheckLookupsAsync()} lookups, all mails, all entities and the journal are as expected");
            return figures;
        }
        finally
        {
            await host.DisposeAsync();
        }
    }

    // Half are in the breach, and half are not.
    private int People => accounts / AccountsPerPerson;

    private string Person(int number) =>
        number % 2 == 0 ? _sample[(long)number * AccountsPerPerson] : $"nobody{number}@stranger.example.com";

    private Task<HibpProcess> StartAsync() => HibpProcess.StartAsync(folder, _variables, "ready", "run");

    private async Task<string> SucceedAsync(params string[] arguments)
    {
        await using var process = HibpProcess.Start(folder, _variables, arguments);
        return (await process.EndAsync()).Succeeded().Output;
    }

    private void CheckRoom()
    {
        var (disk, free) = (accounts * DiskBytesPerAccount, new DriveInfo(folder).AvailableFreeSpace);
        report($"{accounts:N0} accounts need {disk / 1e9:F1} GB of {folder} ({free / 1e9:F0} GB free), and "
            + $"{accounts * MemoryBytesPerAccount / 1e9:F1} GB of memory");
        if (free < disk)
            throw new IOException($"{folder} has too little room; set TMPDIR to a folder with more");
    }

    private HashSet<string> SubscribedDomains()
    {
        var domains = new HashSet<string>(StringComparer.Ordinal);
        for (var i = 0L; domains.Count < accounts / AccountsPerDomain / 2 && i < accounts; i++)
        {
            var domain = _sample[i].Split('@')[1];
            var digits = domain.AsSpan(0, domain.IndexOf('.', StringComparison.Ordinal)).TrimStart("abcdefghijklmnopqrstuvwxyz-");
            if (int.TryParse(digits, out var rank) && rank >= MinRank)
                domains.Add(domain);
        }
        return domains;
    }

    private string WriteSubscribers(IReadOnlySet<string> domains)
    {
        var file = Path.Combine(folder, "subscribers.csv");
        var people = Enumerable.Range(0, People).Select(number => $"{Person(number)},");
        var owners = domains.Select(domain => $"{Owner(domain)},{domain}");
        var others = Enumerable.Range(0, domains.Count).Select(number => $"owner@nobody{number}.example.com,nobody{number}.example.com");
        File.WriteAllLines(file, ["email,domain", .. people, .. owners, .. others]);
        return file;
    }

    private static string Owner(string domain) => $"owner@{domain}";

    private void WriteArchive()
    {
        using var zip = new ZipArchive(File.Create(_zip), ZipArchiveMode.Create);
        using var entry = new BufferedStream(zip.CreateEntry("accounts.txt", CompressionLevel.Fastest).Open(), 1 << 20);
        Span<byte> line = stackalloc byte[SampleAccounts.MaxBytes + 1];
        for (var i = 0L; i < accounts; i++)
        {
            var length = _sample.Write(i, line);
            line[length] = (byte)'\n';
            entry.Write(line[..(length + 1)]);
        }
    }

    private async Task<HibpProcess> KillAsync(HibpProcess host, string stage)
    {
        Sample(host);
        await host.KillAsync();
        report($"killed while {stage}");
        if (isTimePassed)
        {
            using var passed = new PassedTime(_variables["HIBP_STORAGE"], _variables["HIBP_DATABASE"]);
            await passed.ExpireLeasesAsync(host.Id);
            await passed.SweepAsync();
        }
        await host.DisposeAsync();
        return await StartAsync();
    }

    private void Sample(HibpProcess host)
    {
        using var process = Process.GetProcessById(host.Id);
        _cpu += process.TotalProcessorTime.TotalSeconds;
        _peakMiB = Math.Max(_peakMiB, ProcessMemory.PeakMiB(host.Id));
    }

    private async Task<Load> WaitAsync(HibpProcess host, SqlBreachDatabase database, Func<Load, bool> isReached)
    {
        using var timer = new PeriodicTimer(PollInterval);
        var (began, reported) = (Stopwatch.GetTimestamp(), Stopwatch.GetTimestamp());
        while (await timer.WaitForNextTickAsync())
        {
            if (host.HasExited)
                throw new InvalidOperationException($"hibp run ended: {host.Error}");
            if (Stopwatch.GetElapsedTime(began) > Timeout)
                throw new TimeoutException($"not loaded within {Timeout}");
            if (await database.GetLoadAsync(new(1), CancellationToken.None) is not { } load)
                continue;
            if (load.State == LoadState.Failed)
                throw new InvalidOperationException($"the load failed: {load.Error}");
            if (isReached(load))
                return load;
            if (Stopwatch.GetElapsedTime(reported) < ReportInterval)
                continue;
            reported = Stopwatch.GetTimestamp();
            report($"{Stopwatch.GetElapsedTime(began).TotalSeconds:F0} s: {load.State}, {load.Accounts:N0} copied, "
                + $"{load.Entities:N0} upserted, {load.Notifications.Sent:N0} mails, {ProcessMemory.MiB(host.Id):N0} MiB");
        }
        throw new InvalidOperationException("the timer ended");
    }

    private void CheckLoad(Load load, int domains)
    {
        var mails = new NotificationCounts(Open: 0, Sent: ((People + 1) / 2) + domains, Failed: 0);
        var found = (load.Accounts, load.LastPosition, load.Entities, load.DuplicatesPossible, load.Notifications);
        if (found != (accounts, accounts, accounts, false, mails))
            throw new InvalidDataException($"the load is {found}, expected {accounts} accounts, no possible duplicates, {mails}");
    }

    /// <summary>Compares every account with both tables; returns the accounts of each subscribed domain.</summary>
    private Dictionary<string, HashSet<string>> CheckTables(MarkTableServer tables, IReadOnlySet<string> domains)
    {
        if (tables.Fault is { } fault)
            throw new InvalidDataException("a request to the tables was wrong", fault);
        if ((tables.Accounts, tables.Hashes) != (accounts, accounts))
            throw new InvalidDataException($"the tables have {tables.Accounts} accounts, {tables.Hashes} hashes, expected {accounts}");
        var listed = domains.ToDictionary(domain => domain, _ => new HashSet<string>(StringComparer.Ordinal));
        var missing = 0;
        Parallel.For(0, accounts, number =>
        {
            Span<byte> account = stackalloc byte[SampleAccounts.MaxBytes];
            account = account[.._sample.Write(number, account)];
            if (tables.Find(account) is not (1, 1))
                Interlocked.Increment(ref missing);
            Span<char> domain = stackalloc char[SampleAccounts.MaxBytes];
            domain = domain[..Encoding.ASCII.GetChars(account[(account.IndexOf((byte)'@') + 1)..], domain)];
            if (!listed.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(domain, out var accountsOfDomain))
                return;
            lock (accountsOfDomain)
                accountsOfDomain.Add(Encoding.ASCII.GetString(account));
        });
        return missing == 0 ? listed : throw new InvalidDataException($"{missing:N0} accounts have another mark or none");
    }

    private void CheckMails(Dictionary<string, HashSet<string>> domains)
    {
        var expected = Enumerable.Range(0, People).Where(number => number % 2 == 0).Select(Person).Concat(domains.Keys.Select(Owner))
            .ToHashSet(StringComparer.Ordinal);
        foreach (var file in Directory.EnumerateFiles(MailFolder, "*.eml"))
        {
            var mail = MailReader.Read(File.ReadAllBytes(file));
            if (!expected.Remove(Recipient(mail)))
                throw new InvalidDataException("a mail went to nobody that was expected, or a second one to somebody");
            var csv = mail.Leaves.FirstOrDefault(part => part.IsAttachment)?.Text;
            var listed = csv?.Split("\r\n", StringSplitOptions.RemoveEmptyEntries).Skip(1).ToList() ?? [];
            var wanted = domains.GetValueOrDefault(Recipient(mail).Replace(Owner(""), "", StringComparison.Ordinal), []);
            if (listed.Count != wanted.Count || !wanted.SetEquals(listed))
                throw new InvalidDataException($"a mail lists {listed.Count} accounts, expected {wanted.Count} of the owner's domain");
        }

        if (expected.Count > 0)
            throw new InvalidDataException($"{expected.Count:N0} mails are missing");

        // Without idnEncode, MimeKit decodes the labels of international domains.
        static string Recipient(MimeMessage mail) => mail.To.Mailboxes.Single().GetAddress(idnEncode: true);
    }

    /// <summary>Looks up an account for each thousandth one, a tenth of them unknown; returns the number of lookups.</summary>
    private async Task<int> CheckLookupsAsync()
    {
        var created = JsonElement.Parse(await SucceedAsync("keys", "create", "check", "--rpm", "1000000", "--json"));
        await using var api = await HibpProcess.StartAsync(folder, _variables, "ready", "serve", "--urls", "http://127.0.0.1:0");
        using var client = new HttpClient { BaseAddress = new Uri(api.Address) };
        client.DefaultRequestHeaders.Add("user-agent", "check");
        client.DefaultRequestHeaders.Add("hibp-api-key", created.GetProperty("key").GetString());
        var count = accounts / AccountsPerPerson;
        await Parallel.ForAsync(
            0, count, new ParallelOptions { MaxDegreeOfParallelism = MaxConcurrentLookups }, async (number, cancellationToken) =>
        {
            var isKnown = number % 10 != 0;
            var account = _sample[isKnown ? (long)number * AccountsPerPerson : accounts + (long)number];
            using var response = await client.GetAsync($"/api/v3/breachedaccount/{account}", cancellationToken);
            var body = await response.Content.ReadAsStringAsync(cancellationToken);
            if (isKnown ? body != $$"""[{"Name":"{{Breach}}"}]""" : response.StatusCode != HttpStatusCode.NotFound)
                throw new InvalidDataException($"lookup {number}: {response.StatusCode}, {body}");
        });
        return count;
    }
}

/// <param name="Copied">Seconds from the start of <c>hibp drop</c> until the last row is in the database.</param>
/// <param name="Upserted">Seconds until the last account is in the tables.</param>
/// <param name="Done">Seconds until the last mail is sent.</param>
/// <param name="Requests">Writes to the tables.</param>
/// <param name="Entities">Entities in them.</param>
/// <param name="Cpu">Seconds of CPU time of <c>hibp run</c>.</param>
/// <param name="EmulatorCpu">Seconds of the emulator.</param>
/// <param name="ServerCpu">Seconds of the table server.</param>
/// <param name="PeakMiB">Peak memory of <c>hibp run</c>.</param>
/// <param name="DatabaseMB">Size of the database file, in 10^6 bytes; NaN: on a server.</param>
/// <param name="EmulatorMB">Size of the emulator's folder: archive, journal, queues.</param>
internal sealed record LargeLoadFigures(
    double Copied, double Upserted, double Done, long Requests, long Entities, double Cpu, double EmulatorCpu, double ServerCpu,
    double PeakMiB, double DatabaseMB, double EmulatorMB);
