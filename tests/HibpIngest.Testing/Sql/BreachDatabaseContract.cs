namespace HibpIngest.Testing;

/// <summary>A provider implements how a database is opened and a fault is injected. Each test has a database of its own.</summary>
public abstract partial class BreachDatabaseContract : IAsyncLifetime
{
    protected const string MainDatabase = "hibp";
    protected const string Me = "host/1/me";
    protected const string Other = "host/2/other";
    protected const int SliceRows = 3;
    protected static readonly TimeSpan Lease = TimeSpan.FromMinutes(2);

    private readonly List<IBreachDatabase> _opened = [];

    protected TestClock Time { get; } = TestClock.Standing();

    protected IBreachDatabase Database { get; private set; } = null!;

    protected DateTimeOffset Now => Time.GetUtcNow();

    /// <summary>Opens a database of the test as another process would; a new one is empty, without a schema.</summary>
    protected abstract IBreachDatabase Open(string database, TimeProvider time);

    /// <summary>Makes every insert into a table fail from now on.</summary>
    protected abstract Task FailInsertsAsync(string table);

    protected abstract Task RepairInsertsAsync(string table);

    /// <summary>Records a schema version, as a newer program would.</summary>
    protected abstract Task SetSchemaVersionAsync(int version);

    /// <summary>Counts a table's rows without the provider's code.</summary>
    protected abstract Task<long> CountAsync(string table);

    public virtual async Task InitializeAsync()
    {
        Database = OpenAnother();
        await Database.UpgradeAsync(None);
    }

    public virtual async Task DisposeAsync()
    {
        foreach (var database in _opened)
            await database.DisposeAsync();
    }

    /// <summary>Opens the test's database, or another one, and closes it after the test.</summary>
    protected IBreachDatabase OpenAnother(string database = MainDatabase)
    {
        var opened = Open(database, Time);
        _opened.Add(opened);
        return opened;
    }

    protected static LoadSettings Settings { get; } = new()
    {
        ExtractorVersion = 1,
        TopLevelDomains = "cafe",
        Limits = new ArchiveLimits { MaxEntries = 12 },
        DedupeCap = 1_000,
        BatchRows = 6,
        SliceRows = SliceRows,
    };

    protected static BlobVersion Blob(string name = "Adobe.zip", string etag = "\"0x1\"") => new(name, etag);

    protected static AccountBatch Batch(long first, params IReadOnlyCollection<string> accounts)
    {
        var batch = new AccountBatch(Math.Max(accounts.Count, 1)) { FirstPosition = first };
        foreach (var account in accounts)
        {
            var at = account.IndexOf('@', StringComparison.Ordinal);
            batch.Add(Encoding.ASCII.GetBytes(account[..at]), Encoding.ASCII.GetBytes(account[(at + 1)..]));
        }
        return batch;
    }

    protected static List<string> Accounts(AccountBatch batch) =>
        [.. Enumerable.Range(0, batch.Count).Select(
            i => $"{Encoding.ASCII.GetString(batch.Alias(i))}@{Encoding.ASCII.GetString(batch.Domain(i))}")];

    protected static List<string> Numbered(int count, string domain = "example.com") =>
        [.. Enumerable.Range(1, count).Select(i => $"user{i}@{domain}")];

    protected Task<Load> StartAsync(string breach = "Adobe", BlobVersion? blob = null) =>
        Database.StartLoadAsync(
            breach, new BreachMetadata { Title = breach }, blob ?? Blob($"{breach}.zip"), Settings, failure: null, None);

    /// <summary>Starts a load, and acquires its lease for <see cref="Me"/>.</summary>
    protected async Task<Load> ClaimAsync(string breach = "Adobe", BlobVersion? blob = null)
    {
        var load = await StartAsync(breach, blob);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        return load;
    }

    protected Task<IReadOnlyList<Slice>> CommitAsync(
        LoadId load, string owner, AccountBatch batch, CancellationToken cancellationToken = default) =>
        Database.CommitBatchAsync(load, owner, batch, SliceRows, new LoadCheckpoint(), false, Lease, cancellationToken);

    /// <summary>Makes a load in state ingesting: these accounts are its only batch, and <see cref="Me"/> holds the lease.</summary>
    protected async Task<Load> IngestAsync(
        IReadOnlyCollection<string> accounts, string breach = "Adobe", BlobVersion? blob = null, bool duplicatesPossible = false)
    {
        var load = await ClaimAsync(breach, blob);
        await Database.CommitBatchAsync(load.Id, Me, Batch(1, accounts), SliceRows, new LoadCheckpoint(), duplicatesPossible, Lease, None);
        return await LoadAsync(load.Id);
    }

    protected async Task<Load> IngestAllAsync(
        IReadOnlyCollection<string> accounts, string breach = "Adobe", BlobVersion? blob = null, bool duplicatesPossible = false)
    {
        var load = await IngestAsync(accounts, breach, blob, duplicatesPossible);
        await Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint(), None);
        return await LoadAsync(load.Id);
    }

    protected async Task CompleteSlicesAsync(LoadId load)
    {
        foreach (var slice in await SlicesAsync(load))
            await Database.CompleteSliceAsync(load, slice.Number, slice.Count, None);
    }

    /// <summary>Makes a load in state matching: ingest finished, slices completed without writing a table.</summary>
    protected async Task<Load> UpsertAsync(
        IReadOnlyCollection<string> accounts, string breach = "Adobe", BlobVersion? blob = null, bool duplicatesPossible = false)
    {
        var load = await IngestAllAsync(accounts, breach, blob, duplicatesPossible);
        await CompleteSlicesAsync(load.Id);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
        return await LoadAsync(load.Id);
    }

    /// <summary>Matches all rows in ranges of four, and ends matching.</summary>
    protected async Task<LoadState?> MatchAsync(LoadId load, bool hold = false, bool suppress = false)
    {
        await MatchRowsAsync(load);
        return await Database.FinishMatchingAsync(load, hold, suppress, None);
    }

    protected async Task MatchRowsAsync(LoadId load)
    {
        const int RangeRows = 4;
        var last = (await LoadAsync(load)).LastPosition;
        for (var after = 0L; after < last; after += RangeRows)
            Assert.True(await Database.MatchRowsAsync(load, after, Math.Min(after + RangeRows, last), None));
    }

    /// <summary>Makes a load, and ends matching.</summary>
    protected async Task<Load> MatchedAsync(IReadOnlyCollection<string> accounts, string breach = "Adobe", BlobVersion? blob = null)
    {
        var load = await UpsertAsync(accounts, breach, blob);
        await MatchAsync(load.Id);
        return load;
    }

    protected async Task<Load> LoadAsync(LoadId load) => (await Database.GetLoadAsync(load, None))!;

    protected async Task<LoadState> StateAsync(LoadId load) => (await LoadAsync(load)).State;

    protected Task<IReadOnlyList<Slice>> SlicesAsync(LoadId load) => Database.ListSlicesAsync(load, failedOnly: false, None);

    protected async Task<Breach> BreachAsync(string name = "Adobe") => (await Database.GetBreachAsync(name, None))!;

    protected Task<IReadOnlyList<Notification>> NotificationsAsync(LoadId load) =>
        Database.ListNotificationsAsync(load, 1, int.MaxValue, None);

    protected async Task<IReadOnlyList<Notification>> ClaimedAsync(LoadId load, int first, int last, string owner = Me) =>
        (await Database.ClaimNotificationsAsync(load, first, last, owner, Lease, None)).Claimed;

    /// <summary>Runs calls at the same time, in turn as each of so many processes.</summary>
    protected Task<T[]> ConcurrentlyAsync<T>(int calls, Func<IBreachDatabase, int, Task<T>> call, int processes = 2)
    {
        IBreachDatabase[] all = [Database, .. Enumerable.Range(1, processes - 1).Select(_ => OpenAnother())];
        return Task.WhenAll(Enumerable.Range(0, calls).Select(i => Task.Run(() => call(all[i % processes], i))));
    }

    protected Task<SubscribersImported> ImportAsync(params string[] subscriptions) =>
        Database.ImportSubscribersAsync([.. subscriptions.Select(Parse)], null, None);

    /// <summary>Parses "email" or "email for domain".</summary>
    private static Subscription Parse(string subscription)
    {
        var parts = subscription.Split(" for ");
        return new Subscription(parts[0], parts.Length > 1 ? parts[1] : null);
    }

    protected async Task<List<string>> FormatAsync(LoadId load) => Format(await NotificationsAsync(load));

    /// <summary>Formats notifications as "2: email" or "3: email for domain, 5 accounts".</summary>
    protected static List<string> Format(IEnumerable<Notification> notifications) =>
        [.. notifications.Select(n => n.Domain is null && n.Accounts == 1 ? $"{n.Number}: {n.Email}" : $"{n.Number}: {n.Email} for "
            + $"{n.Domain}, {n.Accounts} accounts")];

    protected static async Task<NotPossibleException> RefusedAsync(Func<Task> request) =>
        await Assert.ThrowsAsync<NotPossibleException>(request);
}
