using System.Runtime.CompilerServices;
using System.Text;
using HibpIngest.Breaches;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <summary>Rows removed in one transaction: some 30 ms, so that other writers get their turn.</summary>
    private const int RemovalRows = 20_000;

    /// <summary>Subscriptions read at once when listing.</summary>
    private const int SubscriberPage = 1_000;

    private const string BreachColumns = "SELECT COALESCE(id, 0), name, metadata, hidden, published_at FROM breaches";

    /// <inheritdoc/>
    public Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken) =>
        ReadAsync(
            connection =>
            {
                using var row = connection.Prepare($"{BreachColumns} WHERE folded_name = ?1", Fold(name));
                return row.Step() ? RowReaders.Breach(row) : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Breach>>(
            connection =>
            {
                using var row = connection.Prepare($"{BreachColumns} ORDER BY folded_name");
                var breaches = new List<Breach>();
                while (row.Step())
                    breaches.Add(RowReaders.Breach(row));
                return breaches;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task UpdateBreachAsync(string name, BreachMetadata metadata, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                if (connection.Execute("UPDATE breaches SET metadata = ?2 WHERE folded_name = ?1", Fold(name), ToText(metadata)) == 0)
                    throw Refusals.NoBreach(name);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken) =>
        WriteAsync(connection => connection.Execute("UPDATE breaches SET hidden = ?2 WHERE folded_name = ?1", Fold(name), hidden) == 1, cancellationToken);

    /// <inheritdoc/>
    public async Task RemoveBreachAsync(string name, CancellationToken cancellationToken)
    {
        // Its rows first, in chunks: they may be hundreds of millions.
        var loads = await WriteAsync(
            connection =>
            {
                var breach = FindClosedBreach(connection, name);
                connection.Execute("UPDATE loads SET purging = 1 WHERE breach = ?1", breach);
                return ListNumbers(connection, "SELECT id FROM loads WHERE breach = ?1", breach);
            },
            cancellationToken);
        foreach (var load in loads)
        {
            while (await WriteAsync(connection => DeleteRows(connection, load, RemovalRows), cancellationToken) > 0)
            {
            }
        }
        await WriteAsync(
            connection =>
            {
                // Again: a load may have come in between.
                var breach = FindClosedBreach(connection, name);
                connection.Execute("DELETE FROM notifications WHERE breach = ?1", breach);
                foreach (var load in ListNumbers(connection, "SELECT id FROM loads WHERE breach = ?1", breach))
                {
                    DeleteRows(connection, load, int.MaxValue);
                    connection.Execute("DELETE FROM load_domains WHERE load = ?1", load);
                    connection.Execute("DELETE FROM slices WHERE load = ?1", load);
                    connection.Execute("DELETE FROM loads WHERE id = ?1", load);
                }
                connection.Execute("DELETE FROM breaches WHERE key = ?1", breach);
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public Task<int> ImportSubscribersAsync(IReadOnlyCollection<Subscription> subscriptions, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var added = 0;
                foreach (var subscription in subscriptions)
                {
                    cancellationToken.ThrowIfCancellationRequested();
                    var (email, domain) = Normalise(subscription);
                    var (matchDomain, matchAlias) = MatchedBy(email, domain);
                    added += connection.Execute(
                        "INSERT INTO subscribers (email, domain, match_domain, match_alias) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (email, domain) DO NOTHING",
                        email,
                        domain,
                        Encoding.UTF8.GetBytes(matchDomain),
                        matchAlias is null ? null : Encoding.UTF8.GetBytes(matchAlias));
                }
                return added;
            },
            cancellationToken);

    /// <inheritdoc/>
    public async IAsyncEnumerable<Subscription> ListSubscribersAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        // Page by page: a transaction that stayed open while the caller works would keep the log from being checkpointed.
        var last = new Subscription("", "");
        List<Subscription> page;
        do
        {
            page = await ReadAsync(
                connection =>
                {
                    using var row = connection.Prepare(
                        "SELECT email, domain FROM subscribers WHERE (email, domain) > (?1, ?2) ORDER BY email, domain LIMIT ?3", last.Email, last.Domain ?? "", SubscriberPage);
                    var subscriptions = new List<Subscription>();
                    while (row.Step())
                        subscriptions.Add(RowReaders.Subscription(row));
                    return subscriptions;
                },
                cancellationToken);
            foreach (var subscription in page)
                yield return subscription;
            last = page.Count > 0 ? page[^1] : last;
        }
        while (page.Count == SubscriberPage);
    }

    /// <summary>The key of a breach without an open load.</summary>
    private static long FindClosedBreach(DatabaseConnection connection, string name)
    {
        var breach = connection.Number("SELECT key FROM breaches WHERE folded_name = ?1", Fold(name)) ?? throw Refusals.NoBreach(name);
        return connection.Number("SELECT id FROM loads WHERE breach = ?1 AND state NOT IN ('done', 'failed', 'held') LIMIT 1", breach) is { } open
            ? throw Refusals.BreachOpen(name, open)
            : breach;
    }

    /// <summary>Takes the first rows of a load away.</summary>
    private static int DeleteRows(DatabaseConnection connection, long load, int most) =>
        connection.Execute(
            "DELETE FROM rows WHERE id IN (SELECT id FROM rows WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3)", RowId(load, 0), RowId(load, MaxPosition), most);

    private static List<long> ListNumbers(DatabaseConnection connection, string sql, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(sql, values);
        var numbers = new List<long>();
        while (row.Step())
            numbers.Add(row.Int64(0));
        return numbers;
    }
}
