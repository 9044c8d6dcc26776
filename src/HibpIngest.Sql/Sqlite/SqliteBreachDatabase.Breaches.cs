using System.Runtime.CompilerServices;
using System.Text;
using HibpIngest.Breaches;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <summary>Subscriptions read at once when listing.</summary>
    private const int SubscriberPage = 1_000;

    /// <summary>A row for each mark that counts, or one without.</summary>
    private const string BreachColumns =
        """
        SELECT b.name, b.metadata, b.hidden, b.published_at, l.mark FROM breaches b
        LEFT JOIN loads l ON l.breach = b.key AND l.published_at IS NOT NULL
        """;

    /// <inheritdoc/>
    public Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken) =>
        ReadAsync(
            connection =>
            {
                var breaches = ReadBreaches(connection, $"{BreachColumns} WHERE b.folded_name = ?1 ORDER BY l.mark", Fold(name));
                return breaches.Count > 0 ? breaches[0] : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Breach>>(connection => ReadBreaches(connection, $"{BreachColumns} ORDER BY b.folded_name, l.mark"), cancellationToken);

    /// <inheritdoc/>
    public Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken) =>
        WriteAsync(connection => MergeMetadata(connection, name, document, byOperator), cancellationToken);

    /// <inheritdoc/>
    public Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                if (connection.Execute("UPDATE breaches SET hidden = ?2 WHERE folded_name = ?1", Fold(name), hidden) == 0)
                    return false;
                // What was not sent while it was hidden is sent again by the next sweep.
                connection.Execute("UPDATE loads SET message_sent_at = NULL WHERE state = 'notifying' AND breach = (SELECT key FROM breaches WHERE folded_name = ?1)", Fold(name));
                return connection.Execute("UPDATE store_counters SET catalogue_version = catalogue_version + 1") == 1;
            },
            cancellationToken);

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

    private static List<Breach> ReadBreaches(SqliteSession connection, string sql, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(sql, values);
        var breaches = new List<Breach>();
        while (row.Step())
            RowReaders.AddBreach(breaches, row);
        return breaches;
    }

    private static void MergeMetadata(SqliteSession connection, string name, ReadOnlyMemory<byte> document, bool byOperator)
    {
        BreachMetadata before;
        using (var row = connection.Prepare("SELECT metadata FROM breaches WHERE folded_name = ?1", Fold(name)))
            before = row.Step() ? ToMetadata(row.Text(0)) : throw Refusals.NoBreach(name);
        connection.Execute("UPDATE breaches SET metadata = ?2 WHERE folded_name = ?1", Fold(name), ToText(Merge(document, before, byOperator)));
        connection.Execute("UPDATE store_counters SET catalogue_version = catalogue_version + 1");
    }

    /// <summary>Takes the first rows of a load away.</summary>
    private static int DeleteRows(SqliteSession connection, long load, int most) =>
        connection.Execute(
            "DELETE FROM rows WHERE id IN (SELECT id FROM rows WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3)", RowId(load, 0), RowId(load, MaxPosition), most);

    private static List<long> ListNumbers(SqliteSession connection, string sql, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(sql, values);
        var numbers = new List<long>();
        while (row.Step())
            numbers.Add(row.Int64(0));
        return numbers;
    }
}
