namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    private const int SubscriberPage = 1_000;

    // One row for each published load of a breach, or one without.
    private const string BreachColumns = """
        SELECT b.name, b.metadata, b.hidden, b.published_at, l.mark FROM dbo.breaches b
        LEFT JOIN dbo.loads l ON l.breach = b.breach_key AND l.published_at IS NOT NULL
        """;

    public async Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken) =>
        (await ReadBreachesAsync($"{BreachColumns} WHERE b.folded_name = @folded ORDER BY l.mark", cancellationToken, Folded(name)))
            .FirstOrDefault();

    public Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken) =>
        ReadBreachesAsync($"{BreachColumns} ORDER BY b.folded_name, l.mark", cancellationToken);

    /// <inheritdoc/>
    /// <remarks>
    /// A transaction that changes what readers see also raises the version. If the version is the same before and after the breaches were
    /// read, nothing was committed in between, with row versioning or without.
    /// </remarks>
    public Task<CatalogueState> ReadCatalogueAsync(CancellationToken cancellationToken) => ReadAsync(async session =>
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var before = await ReadCatalogueVersionAsync(session);
            var rows = await session.ListAsync("""
                SELECT b.name, b.metadata, b.hidden, b.published_at, l.mark, b.modified_at, l.accounts, l.blob,
                    CASE WHEN l.log_version > b.log_version THEN l.log_version ELSE b.log_version END AS log_version
                FROM dbo.breaches b
                LEFT JOIN dbo.loads l ON l.breach = b.breach_key AND l.published_at IS NOT NULL
                ORDER BY b.folded_name, l.id DESC
                """,
                row => (
                    Breach: ReadBreach(row), Mark: row.Int32OrNull("mark"), ModifiedAt: row.TimeOrNull("modified_at"),
                    Accounts: row.Int64OrNull("accounts"), Zip: row.TextOrNull("blob"), JournalVersion: row.Int64("log_version")));
            if (await ReadCatalogueVersionAsync(session) != before)
                continue;
            var breaches = rows.GroupBy(row => row.Breach.Name).Select(group =>
            {
                var (breach, _, modifiedAt, _, _, _) = group.First();
                var loads = group.Where(row => row.Mark is not null).ToList();
                // Loads of a store upgraded from schema 1 share their mark.
                var marks = loads.Select(load => load.Mark!.Value).Distinct().Order();
                var accounts = loads.Sum(load => load.Accounts!.Value);
                return new CatalogueBreach(breach with { Marks = [.. marks] }, accounts, modifiedAt, [.. loads.Select(load => load.Zip!)])
                {
                    JournalVersion = group.Max(row => row.JournalVersion),
                };
            });
            return new CatalogueState(before, [.. breaches]);
        }
    }, cancellationToken);

    public Task<bool> MergeBreachesAsync(
        long version, IReadOnlyList<BreachMerge> breaches, long atLeast, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        foreach (var breach in breaches)
            await LockBreachAsync(session, breach.Name);
        // A transaction that changes a breach raises the version, so it commits either before this or after it.
        if (await ReadCatalogueVersionAsync(session) != version)
            return false;
        foreach (var breach in breaches)
        {
            await session.ExecuteAsync("""
                UPDATE dbo.breaches SET metadata = @metadata, hidden = @hidden, modified_at = @modified WHERE folded_name = @folded
                """, Folded(breach.Name), LongText("@metadata", ToText(breach.Metadata)), Bit("@hidden", breach.Hidden),
                At("@modified", breach.ModifiedAt));
        }
        await session.ExecuteAsync("""
            UPDATE dbo.store_counters
            SET catalogue_version = CASE WHEN catalogue_version < @least THEN @least ELSE catalogue_version + 1 END
            """, BigInt("@least", atLeast));
        foreach (var breach in breaches)
            await RaiseJournalVersionAsync(session, "breaches", "folded_name = @folded", Folded(breach.Name));
        return true;
    }, cancellationToken);

    public Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken) =>
        WriteAsync(session => MergeMetadataAsync(session, name, document, byOperator), cancellationToken);

    public Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // Mails that were held back while the breach was hidden are sent by the next sweep. Lock order: loads before their breach,
        // as in every transaction that locks both.
        await session.ExecuteAsync("""
            UPDATE dbo.loads SET message_sent_at = NULL
            WHERE state = 'notifying' AND breach = (SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded)
            """, Folded(name));
        if (await session.ExecuteAsync(
            "UPDATE dbo.breaches SET hidden = @hidden WHERE folded_name = @folded", Folded(name), Bit("@hidden", hidden)) == 0)
        {
            return false;
        }
        await RaiseCatalogueVersionAsync(session);
        await RaiseJournalVersionAsync(session, "breaches", "folded_name = @folded", Folded(name));
        return true;
    }, cancellationToken);

    /// <inheritdoc/>
    /// <remarks>
    /// Reads page by page: while the caller processes a page, no connection is held, and no transaction, which would keep SQLite's log from
    /// being checkpointed.
    /// </remarks>
    public IAsyncEnumerable<Subscription> ListSubscribersAsync(CancellationToken cancellationToken) =>
        ListByPageAsync(last => ReadAsync(session => ReadSubscribersAsync(session, last), cancellationToken));

    private static async IAsyncEnumerable<Subscription> ListByPageAsync(Func<Subscription?, Task<List<Subscription>>> readAfter)
    {
        Subscription? last = null;
        List<Subscription> page;
        do
        {
            page = await readAfter(last);
            foreach (var subscription in page)
                yield return subscription;
            last = page.Count > 0 ? page[^1] : last;
        }
        while (page.Count == SubscriberPage);
    }

    private Task<List<Subscription>> ReadSubscribersAsync(ISqlSession session, Subscription? after) => session.ListAsync(
        Limit("""
            email, domain FROM dbo.subscribers
            WHERE email >= @email AND (email > @email OR domain > @domain) ORDER BY email, domain
            """),
        row => new Subscription(row.Text("email"), DomainOrNull(row)),
        BigInt("@limit", SubscriberPage), Text("@email", after?.Email ?? "", EmailLength),
        Text("@domain", after?.Domain ?? "", DomainLength));

    private static async Task<long> ReadCatalogueVersionAsync(ISqlSession session) =>
        (await session.NumberAsync("SELECT catalogue_version FROM dbo.store_counters"))!.Value;

    private async Task<IReadOnlyList<Breach>> ReadBreachesAsync(
        string sql, CancellationToken cancellationToken, params Parameter[] parameters)
    {
        var rows = await ListAsync(sql, row => (Breach: ReadBreach(row), Mark: row.Int32OrNull("mark")), cancellationToken, parameters);
        return
        [
            .. rows.GroupBy(row => row.Breach.Name).Select(
                group => group.First().Breach with { Marks = [.. group.Select(row => row.Mark).OfType<int>().Distinct()] }),
        ];
    }

    private static Breach ReadBreach(IRow row) => new()
    {
        Name = row.Text("name"),
        Metadata = ToMetadata(row.Text("metadata")),
        Hidden = row.Boolean("hidden"),
        PublishedAt = row.TimeOrNull("published_at"),
    };

    private static string? DomainOrNull(IRow row) => row.Text("domain") is { Length: > 0 } domain ? domain : null;

    private static async Task<bool> AddBreachAsync(ISqlSession session, string name) => await session.ExecuteAsync("""
        INSERT INTO dbo.breaches (folded_name, name, metadata)
        SELECT @folded, @name, @metadata WHERE NOT EXISTS (SELECT 1 FROM dbo.breaches WHERE folded_name = @folded)
        """, Folded(name), Text("@name", name, BreachName.MaxLength), LongText("@metadata", ToText(new BreachMetadata()))) == 1;

    private static async Task<int> BreachKeyAsync(ISqlSession session, string name) =>
        (int)(await session.NumberAsync("SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded", Folded(name))
            ?? throw Refusals.NoBreach(name));

    // Locks a breach for the rest of the transaction. Returns false if there is none.
    private static async Task<bool> LockBreachAsync(ISqlSession session, string name) =>
        await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE folded_name = @folded", Folded(name)) == 1;

    private static async Task MergeMetadataAsync(ISqlSession session, string name, ReadOnlyMemory<byte> document, bool byOperator)
    {
        // Lock the row before reading it: of two concurrent merges, the second sees the first one's result.
        if (!await LockBreachAsync(session, name))
            throw Refusals.NoBreach(name);
        var before = await session.FirstAsync(
            "SELECT metadata FROM dbo.breaches WHERE folded_name = @folded", row => ToMetadata(row.Text("metadata")), Folded(name));
        var after = ToText(Merge(document, before!, byOperator));
        var changed = after != ToText(before!);
        if (changed)
        {
            await session.ExecuteAsync(
                "UPDATE dbo.breaches SET metadata = @metadata, modified_at = @now WHERE folded_name = @folded",
                Folded(name), LongText("@metadata", after));
        }
        await RaiseCatalogueVersionAsync(session);
        if (changed)
            await RaiseJournalVersionAsync(session, "breaches", "folded_name = @folded", Folded(name));
    }
}
