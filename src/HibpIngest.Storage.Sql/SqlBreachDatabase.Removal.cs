namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    /// <summary>The first position of a load <c>l</c> whose row still exists; past the last one if none does.</summary>
    private protected abstract string FirstRow { get; }

    private protected abstract string RowsOfLoad { get; }

    public Task<IReadOnlyList<LoadRemoval>> BeginRemovalAsync(string breach, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<LoadRemoval>>(async session =>
        {
            // Lock order: loads before their breach, as everywhere. Adding a load locks the breach's row through its foreign key, and
            // so happens before or after this.
            var loads = await session.ListAsync("""
                SELECT l.id FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
                WHERE b.folded_name = @folded ORDER BY l.id
                """, row => row.Load("id"), Folded(breach));
            foreach (var load in loads)
                await LockLoadRowAsync(session, load);
            await LockBreachAsync(session, breach);
            var key = Int("@breach", await BreachKeyAsync(session, breach));
            if (!await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE breach = @breach AND removing = 1", key))
                await UnlistAsync(session, breach, key);
            return await session.ListAsync(
                $"SELECT {RemovalColumns} FROM dbo.loads l WHERE l.breach = @breach AND l.removing = 1 ORDER BY l.id",
                ReadRemoval, key);
        }, cancellationToken, isLong: true);

    public Task<IReadOnlyList<(string Breach, LoadRemoval Load)>> ListRemovalsAsync(CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<(string Breach, LoadRemoval Load)>>(
            async session => await session.ListAsync($"""
                SELECT {RemovalColumns}, b.name
                FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach WHERE l.removing = 1 ORDER BY l.id
                """, row => (row.Text("name"), ReadRemoval(row))),
            cancellationToken);

    public Task<bool> HasLeasedSlicesAsync(IReadOnlyCollection<LoadId> loads, CancellationToken cancellationToken) =>
        ReadAsync(async session =>
        {
            foreach (var load in loads)
            {
                if (await session.AnyAsync("SELECT 1 FROM dbo.slices WHERE load_id = @load AND lease_expires_at > @now", OfLoad(load)))
                    return true;
            }
            return false;
        }, cancellationToken);

    public Task SetRemovalTokenAsync(LoadId load, string token, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.loads SET removal_token = @token WHERE id = @load AND removing = 1",
        cancellationToken, OfLoad(load), LongText("@token", token));

    public Task FinishRemovalAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        const string Hold = "UPDATE dbo.loads SET generation = generation WHERE id = @load AND removing = 1";
        if (await session.ExecuteAsync(Hold, OfLoad(load)) == 0)
            return 0;
        var breach = Int("@breach", (await ReadFactsAsync(session, load))!.Breach);
        await session.ExecuteAsync($"DELETE FROM dbo.rows WHERE {RowsOfLoad}", OfLoad(load));
        foreach (var table in (string[])["notifications", "load_domains", "slices", "log_segments", "layout_loads", "callbacks"])
            await session.ExecuteAsync($"DELETE FROM dbo.{table} WHERE load_id = @load", OfLoad(load));
        await session.ExecuteAsync("DELETE FROM dbo.loads WHERE id = @load", OfLoad(load));
        // Locked first: a load that is added concurrently is seen, or violates the foreign key and finds the breach deleted.
        await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE breach_key = @breach", breach);
        if (await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE breach = @breach", breach))
            return 0;
        // A load that was moved to another breach in the meantime may have left some.
        await session.ExecuteAsync("DELETE FROM dbo.notifications WHERE breach = @breach", breach);
        return await session.ExecuteAsync("DELETE FROM dbo.breaches WHERE breach_key = @breach", breach);
    }, cancellationToken, isLong: true);

    private string RemovalColumns =>
        $"""
        l.id, COALESCE(l.mark, 0) AS mark,
            CAST(CASE WHEN EXISTS (
                SELECT 1 FROM dbo.loads o WHERE o.mark = l.mark AND o.removing = 0) THEN 1 ELSE 0 END AS bit) AS shares_mark,
            {FirstRow} AS first_row, l.last_position, l.purging, l.removal_token
        """;

    private static LoadRemoval ReadRemoval(IRow row) => new(
        row.Load("id"), row.Int32("mark"), row.Boolean("shares_mark"), row.Int64("first_row"), row.Int64("last_position"),
        row.Boolean("purging"), row.TextOrNull("removal_token"));

    // The caller has locked the breach's row and its loads' rows.
    private async Task UnlistAsync(ISqlSession session, string name, Parameter breach)
    {
        var open = Limit("id FROM dbo.loads WHERE breach = @breach AND state NOT IN ('done', 'failed', 'held') ORDER BY id", "1");
        if (await session.LoadAsync(open, breach) is { } load)
            throw Refusals.BreachOpen(name, load);
        // Beginning a slice locks its row: its lease is visible once this has waited for it, and a slice that waits for this finds its load
        // being removed.
        await session.ExecuteAsync("""
            UPDATE dbo.slices SET attempts = attempts
            WHERE load_id IN (SELECT id FROM dbo.loads WHERE breach = @breach) AND state <> 'done'
            """, breach);
        // All notifications, sent ones too: whom a later load notifies must not depend on the progress of the removal. Those of a load that
        // came from another breach may have that breach's key.
        await session.ExecuteAsync("DELETE FROM dbo.notifications WHERE breach = @breach", breach);
        await session.ExecuteAsync(
            "DELETE FROM dbo.notifications WHERE load_id IN (SELECT id FROM dbo.loads WHERE breach = @breach)", breach);
        if (await session.ExecuteAsync("UPDATE dbo.loads SET removing = 1, published_at = NULL WHERE breach = @breach", breach) == 0)
            await session.ExecuteAsync("DELETE FROM dbo.breaches WHERE breach_key = @breach", breach);
        else
            await session.ExecuteAsync("UPDATE dbo.breaches SET published_at = NULL WHERE breach_key = @breach", breach);
        await RaiseCatalogueVersionAsync(session);
    }
}
