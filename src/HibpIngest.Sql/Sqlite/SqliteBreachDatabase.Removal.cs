using HibpIngest.Stores;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    private const string RemovalColumns =
        """
        SELECT l.id, COALESCE(l.mark, 0), EXISTS (SELECT 1 FROM loads o WHERE o.mark = l.mark AND NOT o.removing), l.last_position,
            l.purging, l.removal_token
        FROM loads l WHERE l.breach = ?1 AND l.removing ORDER BY l.id
        """;

    /// <inheritdoc/>
    public Task<IReadOnlyList<LoadRemoval>> BeginRemovalAsync(string breach, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<LoadRemoval>>(
            connection =>
            {
                var key = connection.Number("SELECT key FROM breaches WHERE folded_name = ?1", Fold(breach))
                    ?? throw Refusals.NoBreach(breach);
                if (connection.Number("SELECT 1 FROM loads WHERE breach = ?1 AND removing LIMIT 1", key) is null)
                    Unlist(connection, breach, key);
                return ReadRemovals(connection, key);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> HasLivingSlicesAsync(IReadOnlyCollection<long> loads, CancellationToken cancellationToken) =>
        ReadAsync(
            connection => loads.Any(
                load => connection.Number("SELECT 1 FROM slices WHERE load = ?1 AND lease_expires_at > ?2 LIMIT 1", load, Now) is not null),
            cancellationToken);

    /// <inheritdoc/>
    public Task<int> DeleteRowsUpToAsync(long load, long position, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => IsRemoving(connection, load)
                ? connection.Execute(
                    "DELETE FROM rows WHERE id BETWEEN ?1 AND ?2", RowId(load, 0), RowId(load, Math.Min(position, MaxPosition)))
                : 0,
            cancellationToken);

    /// <inheritdoc/>
    public Task SetRemovalTokenAsync(long load, string token, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute("UPDATE loads SET removal_token = ?2 WHERE id = ?1 AND removing", load, token),
            cancellationToken);

    /// <inheritdoc/>
    public Task FinishRemovalAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                if (!IsRemoving(connection, load))
                    return;
                var breach = connection.Number("SELECT breach FROM loads WHERE id = ?1", load);
                connection.Execute("DELETE FROM rows WHERE id BETWEEN ?1 AND ?2", RowId(load, 0), RowId(load, MaxPosition));
                foreach (var table in (string[])["notifications", "load_domains", "slices"])
                    connection.Execute($"DELETE FROM {table} WHERE load = ?1", load);
                connection.Execute("DELETE FROM loads WHERE id = ?1", load);
                if (connection.Number("SELECT 1 FROM loads WHERE breach = ?1 LIMIT 1", breach) is not null)
                    return;
                // A load that was given to another breach meanwhile may have left some.
                connection.Execute("DELETE FROM notifications WHERE breach = ?1", breach);
                connection.Execute("DELETE FROM breaches WHERE key = ?1", breach);
            },
            cancellationToken);

    private static void Unlist(SqliteSession connection, string name, long breach)
    {
        const string Open = "SELECT id FROM loads WHERE breach = ?1 AND state NOT IN ('done', 'failed', 'held') ORDER BY id LIMIT 1";
        if (connection.Number(Open, breach) is { } open)
            throw Refusals.BreachOpen(name, open);
        // All of them, sent ones too: whom a load tells that comes from now on is not to depend on how far the
        // removal is. Those of a load that came from another breach may be under that one's name.
        connection.Execute("DELETE FROM notifications WHERE breach = ?1 OR load IN (SELECT id FROM loads WHERE breach = ?1)", breach);
        if (connection.Execute("UPDATE loads SET removing = 1, published_at = NULL WHERE breach = ?1", breach) == 0)
            connection.Execute("DELETE FROM breaches WHERE key = ?1", breach);
        connection.Execute("UPDATE breaches SET published_at = NULL WHERE key = ?1", breach);
        connection.Execute("UPDATE store_counters SET catalogue_version = catalogue_version + 1");
    }

    private static List<LoadRemoval> ReadRemovals(SqliteSession connection, long breach)
    {
        var removals = new List<LoadRemoval>();
        using (var row = connection.Prepare(RemovalColumns, breach))
        {
            while (row.Step())
            {
                removals.Add(new LoadRemoval(
                    row.Int64(0), row.Int32(1), row.Boolean(2), First: 0, row.Int64(3), row.Boolean(4), row.TextOrNull(5)));
            }
        }
        return removals.ConvertAll(one => one with { First = FirstPosition(connection, one.Load) ?? one.Last + 1 });
    }

    private static long? FirstPosition(SqliteSession connection, long load) =>
        connection.Number("SELECT MIN(id) FROM rows WHERE id BETWEEN ?1 AND ?2", RowId(load, 0), RowId(load, MaxPosition)) - RowId(load, 0);

    private static bool IsRemoving(SqliteSession connection, long load) =>
        connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND removing", load) is not null;
}
