using HibpIngest.Api.Lookup;
using HibpIngest.Delivery;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Setup;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Testing;

/// <summary>The whole pipeline on stores of its own. It plays the host one message at a time, so that a test controls the order.</summary>
internal sealed class PipelineRig : IAsyncDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("hibp-test-").FullName;
    private readonly List<IBreachDatabase> _databases = [];

    public required string Connection { get; init; }

    /// <summary>The store's storage accounts after the first.</summary>
    public IReadOnlyList<string> Further { get; init; } = [];

    /// <summary>The journal's storage account, if it is another one.</summary>
    public string? LogConnection { get; init; }

    public required TestOptions Options { get; init; }

    public required TimeProvider Time { get; init; }

    public string DatabaseFile => Path.Combine(_folder, "hibp.db");

    public string MailFolder => Path.Combine(_folder, "mail");

    /// <summary>The folder of database and mails.</summary>
    public string Folder => _folder;

    /// <summary>The environment in which a <c>hibp</c> command works on the same stores.</summary>
    public Dictionary<string, string> Variables => new()
    {
        ["HIBP_STORAGE"] = Connection,
        ["HIBP_DATABASE"] = DatabaseFile,
        ["HIBP_MAIL"] = $"pickup:{MailFolder}",
    };

    /// <summary>The first process on these stores.</summary>
    public PipelineParts Context { get; private set; } = null!;

    public static async Task<PipelineRig> StartAsync(
        Action<TestOptions>? configure = null, TimeProvider? time = null, string? secretKey = null, int storageAccounts = 1)
    {
        var rig = await NewAsync(configure, time, secretKey, storageAccounts);
        await rig.Context.Get<StoreSetup>().EnsureAsync(CancellationToken.None);
        return rig;
    }

    /// <summary>Starts a rig with empty stores.</summary>
    public static async Task<PipelineRig> NewAsync(
        Action<TestOptions>? configure = null, TimeProvider? time = null, string? secretKey = null, int storageAccounts = 1,
        string? logConnection = null)
    {
        var further = new List<string>();
        while (further.Count < storageAccounts - 1)
            further.Add(await AzuriteFixture.NewAccountAsync());
        // The journal and ranges are off, because they have tests of their own: other tests would write each load
        // three times, and ranges cost the emulator a request per account.
        var options = new TestOptions
        {
            Ingest = { DedupeCap = 1_000_000 },
            Mail = { MailsPerSecond = 10_000 },
            Journal = { Mode = JournalMode.Off },
            Upsert = { Ranges = RangesMode.Off },
        };
        configure?.Invoke(options);
        var rig = new PipelineRig
        {
            Connection = await AzuriteFixture.NewAccountAsync(),
            Further = further,
            LogConnection = logConnection,
            Options = options,
            Time = time ?? TimeProvider.System,
        };
        rig.Context = rig.OpenContext(secretKey);
        return rig;
    }

    /// <summary>Opens another process on the same stores.</summary>
    public PipelineParts OpenContext(string? secretKey = null)
    {
        var account = OpenAccount();
        var database = SqliteBreachDatabase.Open(DatabaseFile, Time);
        _databases.Add(database);
        var context = PipelineParts.Of(
            account, database, NotificationSenders.Create($"pickup:{MailFolder}"), Options, NullLoggerFactory.Instance,
            SecretKeys.Parse(secretKey));
        return context with
        {
            Time = Time,
            Log = LogConnection is null ? context.Log : StorageAccount.Open(LogConnection, NullLoggerFactory.Instance).JournalBlobs,
        };
    }

    public StorageAccount OpenAccount() => StorageAccount.Open(Connection, NullLoggerFactory.Instance, further: Further);

    public Task<HibpResult> HibpAsync(params string[] arguments) => HibpInProcess.RunAsync(Folder, Variables, arguments);

    /// <summary>Uploads a blob to the container, as any storage tool would.</summary>
    public async Task<BlobVersion> DropAsync(string blob, byte[] content, string? metadata = null)
    {
        if (metadata is not null)
            await Context.Blobs.WriteSmallAsync(
                Path.ChangeExtension(blob, ".json"), Encoding.UTF8.GetBytes(metadata), CancellationToken.None);
        return await Context.Blobs.UploadAsync(blob, new MemoryStream(content), null, CancellationToken.None);
    }

    /// <summary>Scans for zips, then processes all messages. A failure reaches the caller, and its message stays in the queue.</summary>
    public Task RunToEndAsync() => RunToEndAsync(Context);

    public static async Task RunToEndAsync(PipelineParts context)
    {
        var dispatcher = context.Get<MessageDispatcher>();
        await context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        var empty = 0; // queues since the last message
        for (var next = 0; empty < LoadQueues.Count; next = (next + 1) % LoadQueues.Count)
            empty = await PumpAsync(context.Queues.Get(LoadQueues[next]), dispatcher) ? 0 : empty + 1;
    }

    public Task ImportAsync(params (string Email, string? Domain)[] subscriptions) =>
        Context.Database.ImportSubscribersAsync(
            [.. subscriptions.Select(one => new Subscription(one.Email, one.Domain))], Context.SuppressionKey, CancellationToken.None);

    public async Task<Load> LoadAsync(long id) =>
        await Context.Database.GetLoadAsync(new(id), CancellationToken.None) ?? throw new InvalidOperationException($"no load {id}");

    public async Task<IReadOnlyList<Load>> LoadsAsync() => await Context.Database.ListLoadsAsync(null, CancellationToken.None);

    public async Task<IReadOnlyList<Slice>> SlicesAsync(long load) =>
        await Context.Database.ListSlicesAsync(new(load), failedOnly: false, CancellationToken.None);

    /// <summary>Returns the visible breaches of an account, as a freshly started reader finds them.</summary>
    public async Task<IReadOnlyList<PublicBreach>> FindAsync(string account) => (await FindAsync([account]))[0];

    /// <summary>Returns the visible breaches of several accounts, read by one reader.</summary>
    public async Task<IReadOnlyList<IReadOnlyList<PublicBreach>>> FindAsync(IReadOnlyList<string> accounts)
    {
        using var stores = OpenAccount();
        var catalogue = new CatalogueReader(stores.Catalogue, Time, NullLogger<CatalogueReader>.Instance);
        var breached = new BreachedAccounts(catalogue, new LayoutReads(
            stores.Register, stores.StoreAccounts, stores.Tables, Time, NullLogger<LayoutReads>.Instance));
        var all = new List<IReadOnlyList<PublicBreach>>();
        foreach (var address in accounts)
        {
            Assert.True(AccountRules.TryParse(address, out var account, out var broken), $"no account by rule {broken}");
            var found = await breached.FindAsync(account, CancellationToken.None);
            all.Add([.. found.Select(breach => breach.Model)]);
        }
        return all;
    }

    /// <summary>Returns each account in the table with its b* properties, without the product's code.</summary>
    public Task<Dictionary<string, string[]>> TableAsync() => RawTable.ReadAccountsAsync(Connection, "accounts");

    /// <summary>Returns each hash in the range table with its b* properties, without the product's code.</summary>
    public Task<SortedDictionary<string, string>> RangesAsync() => RawTable.ReadRangesAsync(Connection, "ranges");

    /// <summary>Returns the range table's expected content for the current accounts, with the test's own SHA-1.</summary>
    public async Task<SortedDictionary<string, string>> ExpectedRangesAsync() => RawTable.RangesOf(await TableAsync());

    /// <summary>Returns file name and text of each mail in the pickup folder.</summary>
    public IReadOnlyList<(string File, string Text)> Mails() => !Directory.Exists(MailFolder) ? []
        : [.. Directory.GetFiles(MailFolder, "*.eml").Order().Select(file => (Path.GetFileName(file), File.ReadAllText(file)))];

    public IReadOnlyList<string> Recipients() =>
        [.. Mails()
            .Select(mail => mail.Text.Split("\r\n").First(line => line.StartsWith("To: ", StringComparison.Ordinal))[4..].Trim('<', '>'))
            .Order()];

    /// <summary>Returns why a subscriber's notification was rejected, without the product's code.</summary>
    public async Task<string> ErrorOfAsync(string email) => await ExecuteAsync(
        $"SELECT n.error FROM notifications n JOIN subscribers s ON s.id = n.subscriber WHERE s.email = '{email}'") as string ?? "";

    /// <summary>Runs a statement on the database file, bypassing the product.</summary>
    public Task<object?> ExecuteAsync(string sql) => ExecuteAsync(DatabaseFile, sql);

    public static async Task<object?> ExecuteAsync(string databaseFile, string sql)
    {
        await using var connection = new SqliteConnection($"Data Source={databaseFile};Pooling=False");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = sql;
        return await command.ExecuteScalarAsync();
    }

    public async Task<Dictionary<string, int>> DepthsAsync()
    {
        var depths = new Dictionary<string, int>();
        foreach (var queue in QueueNames.All.SelectMany(name => new[] { name, name + QueueNames.PoisonSuffix }))
            depths[queue] = (await Context.Queues.Get(queue).GetDepthAsync(CancellationToken.None)).Messages;
        return depths;
    }

    public static byte[] Zip(params (string Name, string Text)[] entries) =>
        ArchiveTesting.Zip(seekable: true, [.. entries.Select(entry => (entry.Name, Encoding.UTF8.GetBytes(entry.Text)))]);

    /// <summary>Returns numbered accounts over a few domains, one per line.</summary>
    public static string Accounts(int first, int count) =>
        string.Concat(Enumerable.Range(first, count).Select(i => $"{i};User{i}@{Domain(i)};x\n"));

    /// <summary>Returns the accounts that <see cref="Accounts"/> makes, as the table stores them.</summary>
    public static IEnumerable<string> Expected(int first, int count) =>
        Enumerable.Range(first, count).Select(i => $"user{i}@{Domain(i)}");

    private static string Domain(int number) => number % 3 == 0 ? "example.com" : $"d{number % 7}.example.org";

    /// <summary>Restores the database from a backup, as an operator does with all hosts stopped. Closes everything opened before.</summary>
    public async Task RestoreAsync(string backup)
    {
        await LoseDatabaseAsync(backup);
        File.Copy(backup, DatabaseFile);
    }

    /// <summary>Closes everything opened on the database, as if every host were stopped.</summary>
    public async Task CloseAsync()
    {
        foreach (var database in _databases)
            await database.DisposeAsync();
        _databases.Clear();
    }

    /// <param name="but">A file that is kept.</param>
    public async Task LoseDatabaseAsync(string? but = null)
    {
        await CloseAsync();
        foreach (var file in Directory.GetFiles(_folder, "hibp.db*"))
        {
            if (file != but && !file.EndsWith(".backup", StringComparison.Ordinal))
                File.Delete(file);
        }
    }

    public async Task<string> BackUpAsync(string name)
    {
        var backup = $"{DatabaseFile}.{name}.backup";
        await ExecuteAsync($"VACUUM INTO '{backup}'");
        return backup;
    }

    public async ValueTask DisposeAsync()
    {
        await CloseAsync();
        Directory.Delete(_folder, recursive: true);
    }

    public static IReadOnlyList<string> LoadQueues { get; } =
        [.. MessageRoutes.All.Where(route => route.Message.IsSubclassOf(typeof(PipelineMessage))).Select(route => route.Queue)];

    /// <summary>Processes each queue once.</summary>
    public static async Task PumpOnceAsync(PipelineParts context)
    {
        var dispatcher = context.Get<MessageDispatcher>();
        foreach (var name in LoadQueues)
            await PumpAsync(context.Queues.Get(name), dispatcher);
    }

    /// <summary>Processes the messages of one receive. Returns false if the queue was empty.</summary>
    public static async Task<bool> PumpAsync(IMessageQueue queue, MessageDispatcher dispatcher)
    {
        const int AtOnce = 32;
        var messages = await queue.ReceiveAsync(AtOnce, TimeSpan.FromMinutes(10), CancellationToken.None);
        foreach (var message in messages)
        {
            await dispatcher.DispatchAsync(queue.Name, message.Body, CancellationToken.None);
            await queue.DeleteAsync(message, CancellationToken.None);
        }
        return messages.Count > 0;
    }
}
