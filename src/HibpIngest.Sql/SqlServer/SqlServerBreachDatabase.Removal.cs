using HibpIngest.Stores;
using static HibpIngest.Sql.SqlServer.Parameter;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    /// <inheritdoc/>
    public Task<IReadOnlyList<LoadRemoval>> BeginRemovalAsync(string breach, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<LoadRemoval>>(
            async session =>
            {
                // The loads before their breach, as everywhere. Whoever adds one needs the breach's row for its
                // foreign key, and so comes before this, or after it.
                var loads = await session.ListAsync(
                    """
                    SELECT l.id FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
                    WHERE b.folded_name = @folded ORDER BY l.id
                    """,
                    row => row.Int64(0), Folded(breach));
                foreach (var load in loads)
                    await LockLoadRowAsync(session, load);
                await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE folded_name = @folded", Folded(breach));
                var key = (int)(await session.NumberAsync("SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded", Folded(breach))
                    ?? throw Refusals.NoBreach(breach));
                const string Listed = "SELECT TOP (1) 1 FROM dbo.loads WHERE breach = @breach AND removing = 1";
                if (await session.NumberAsync(Listed, Int("@breach", key)) is null)
                    await UnlistAsync(session, breach, key);
                return await session.ListAsync(
                    """
                    SELECT l.id, COALESCE(l.mark, 0),
                        CAST(CASE WHEN EXISTS (
                            SELECT 1 FROM dbo.loads o WHERE o.mark = l.mark AND o.removing = 0) THEN 1 ELSE 0 END AS bit),
                        l.purged_position, l.last_position, l.purging, l.removal_token
                    FROM dbo.loads l WHERE l.breach = @breach AND l.removing = 1 ORDER BY l.id
                    """,
                    row => new LoadRemoval(
                        row.Int64(0), row.Int32(1), row.Boolean(2), row.Int64(3) + 1, row.Int64(4), row.Boolean(5), row.TextOrNull(6)),
                    Int("@breach", key));
            },
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public Task<bool> HasLivingSlicesAsync(IReadOnlyCollection<long> loads, CancellationToken cancellationToken) =>
        ReadAsync(
            async session =>
            {
                const string Living = "SELECT TOP (1) 1 FROM dbo.slices WHERE load_id = @load AND lease_expires_at > @now";
                foreach (var load in loads)
                {
                    if (await session.NumberAsync(Living, BigInt("@load", load)) is not null)
                        return true;
                }
                return false;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<int> DeleteRowsUpToAsync(long load, long position, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // From where the rows begin: what is gone before it would be read through each time.
                const string Left = "SELECT purged_position FROM dbo.loads WHERE id = @load AND removing = 1 AND purged_position < @upTo";
                if (!await LockLoadRowAsync(session, load)
                    || await session.NumberAsync(Left, BigInt("@load", load), BigInt("@upTo", position)) is not { } after)
                {
                    return 0;
                }
                await session.ExecuteAsync(
                    "UPDATE dbo.loads SET purged_position = @upTo WHERE id = @load", BigInt("@load", load), BigInt("@upTo", position));
                return await session.ExecuteAsync(
                    "DELETE FROM dbo.rows WHERE load_id = @load AND position > @after AND position <= @upTo",
                    BigInt("@load", load), BigInt("@after", after), BigInt("@upTo", position));
            },
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public Task SetRemovalTokenAsync(long load, string token, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                "UPDATE dbo.loads SET removal_token = @token WHERE id = @load AND removing = 1",
                BigInt("@load", load), LongText("@token", token)),
            cancellationToken);

    /// <inheritdoc/>
    public Task FinishRemovalAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                const string Hold = "UPDATE dbo.loads SET generation = generation WHERE id = @load AND removing = 1";
                if (await session.ExecuteAsync(Hold, BigInt("@load", load)) == 0)
                    return 0;
                var breach = (int)(await session.NumberAsync("SELECT breach FROM dbo.loads WHERE id = @load", BigInt("@load", load)))!;
                foreach (var table in (string[])["rows", "notifications", "load_domains", "slices"])
                    await session.ExecuteAsync($"DELETE FROM dbo.{table} WHERE load_id = @load", BigInt("@load", load));
                await session.ExecuteAsync("DELETE FROM dbo.loads WHERE id = @load", BigInt("@load", load));
                // Held first: a load that is being added meanwhile is seen, or meets the foreign key and finds the breach gone.
                await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE breach_key = @breach", Int("@breach", breach));
                if (await session.NumberAsync("SELECT TOP (1) 1 FROM dbo.loads WHERE breach = @breach", Int("@breach", breach)) is not null)
                    return 0;
                // A load that was given to another breach meanwhile may have left some.
                await session.ExecuteAsync("DELETE FROM dbo.notifications WHERE breach = @breach", Int("@breach", breach));
                return await session.ExecuteAsync("DELETE FROM dbo.breaches WHERE breach_key = @breach", Int("@breach", breach));
            },
            cancellationToken,
            _options.LongTimeout);

    /// <summary>Of a breach whose row is held, and those of its loads.</summary>
    private static async Task UnlistAsync(SqlServerSession session, string name, int breach)
    {
        const string Open =
            "SELECT TOP (1) id FROM dbo.loads WHERE breach = @breach AND state NOT IN ('done', 'failed', 'held') ORDER BY id";
        if (await session.NumberAsync(Open, Int("@breach", breach)) is { } open)
            throw Refusals.BreachOpen(name, open);
        // A slice that is being begun holds its row: its lease is seen once this has waited for it, and one
        // that waits for this finds its load listed.
        await session.ExecuteAsync(
            """
            UPDATE dbo.slices SET attempts = attempts
            WHERE load_id IN (SELECT id FROM dbo.loads WHERE breach = @breach) AND state <> 'done'
            """,
            Int("@breach", breach));
        // All of them, sent ones too: whom a load tells that comes from now on is not to depend on how far the
        // removal is. Those of a load that came from another breach may be under that one's name.
        await session.ExecuteAsync("DELETE FROM dbo.notifications WHERE breach = @breach", Int("@breach", breach));
        await session.ExecuteAsync(
            "DELETE FROM dbo.notifications WHERE load_id IN (SELECT id FROM dbo.loads WHERE breach = @breach)", Int("@breach", breach));
        const string List = "UPDATE dbo.loads SET removing = 1, published_at = NULL WHERE breach = @breach";
        if (await session.ExecuteAsync(List, Int("@breach", breach)) == 0)
            await session.ExecuteAsync("DELETE FROM dbo.breaches WHERE breach_key = @breach", Int("@breach", breach));
        else
            await session.ExecuteAsync("UPDATE dbo.breaches SET published_at = NULL WHERE breach_key = @breach", Int("@breach", breach));
        await RaiseCatalogueVersionAsync(session);
    }
}
