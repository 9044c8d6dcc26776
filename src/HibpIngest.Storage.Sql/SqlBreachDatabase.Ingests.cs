namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    public Task<bool> TryClaimLoadAsync(LoadId load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        TryWriteAsync("""
            UPDATE dbo.loads SET attempts = CASE WHEN owner = @owner THEN attempts ELSE attempts + 1 END, owner = @owner,
                lease_expires_at = @until
            WHERE id = @load AND state = @state AND superseded = 0 AND removing = 0 AND superseded_by IS NULL
                AND (owner IS NULL OR owner = @owner OR lease_expires_at <= @now)
            """, cancellationToken, OfLoad(load), State(state), Owner(owner), FromNow("@until", lease));

    public Task<bool> RenewLoadAsync(LoadId load, string owner, TimeSpan lease, CancellationToken cancellationToken) => RenewAsync(
        async session => await session.ExecuteAsync(
            "UPDATE dbo.loads SET lease_expires_at = @until WHERE id = @load AND state IN ('ingesting', 'matching') AND owner = @owner",
            OfLoad(load), Owner(owner), FromNow("@until", lease)) == 1,
        cancellationToken);

    // A claim that is released wasn't a failed attempt.
    public Task ReleaseLoadAsync(LoadId load, string owner, CancellationToken cancellationToken) => WriteAsync("""
        UPDATE dbo.loads SET owner = NULL, lease_expires_at = NULL, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END
        WHERE id = @load AND owner = @owner
        """, cancellationToken, OfLoad(load), Owner(owner));

    public Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(order.SliceRows, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(order.Mark, 1);
        return Task.FromResult(Copy(order));
    }

    public Task FinishIngestAsync(LoadId load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var changed = await session.ExecuteAsync("""
                UPDATE dbo.loads SET state = 'upserting', ingest_complete = 1, checkpoint_json = @checkpoint, ingested_at = @now,
                    owner = NULL, lease_expires_at = NULL
                WHERE id = @load AND owner = @owner AND state = 'ingesting'
                """, OfLoad(load), Owner(owner), LongText("@checkpoint", ToText(checkpoint)));
            if (changed == 0)
                throw new LoadLostException(load);
        }, cancellationToken);

    public abstract Task ReadRowsAsync(LoadId load, long first, long last, AccountBatch into, CancellationToken cancellationToken);

    public Task<int> PurgeRowsAsync(LoadId load, int chunkRows, CancellationToken cancellationToken, bool requireJournaled = false)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(chunkRows, 1);
        return WriteAsync(async session =>
        {
            var facts = await LockLoadAsync(session, load);
            if (facts.Removing)
                throw Refusals.Removing(load);
            if (facts.State is not (LoadState.Done or LoadState.Failed))
                throw Refusals.LoadOpen(load);
            const string NotJournaled = "published_at IS NOT NULL AND logged_version IS NULL";
            if (requireJournaled && !facts.Purging
                && await session.AnyAsync($"SELECT 1 FROM dbo.loads WHERE id = @load AND {NotJournaled}", OfLoad(load)))
            {
                throw Refusals.NotJournaled(load);
            }
            var removed = await DeleteRowsAsync(session, load, chunkRows);
            await session.ExecuteAsync(
                "UPDATE dbo.loads SET purging = 1, purged = @purged WHERE id = @load", OfLoad(load), Bit("@purged", removed == 0));
            return removed;
        }, cancellationToken, isLong: true);
    }

    public abstract Task<int> DeleteRowsUpToAsync(LoadId load, long position, CancellationToken cancellationToken);

    public Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            Parameter[] parameters = [.. Key(blob), LongBytes("@sealed", sealedPassword)];
            if (await session.ExecuteAsync($"UPDATE dbo.passwords SET sealed = @sealed WHERE {OfVersion}", parameters) == 0)
            {
                await session.ExecuteAsync($"""
                    INSERT INTO dbo.passwords ({string.Join(", ", _versionColumns)}, sealed)
                    VALUES (@{string.Join(", @", _versionColumns)}, @sealed)
                    """, parameters);
            }
        }, cancellationToken);

    public Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken) => ReadAsync(
        session => session.FirstAsync($"SELECT sealed FROM dbo.passwords WHERE {OfVersion}", row => row.Bytes("sealed"), Key(blob)),
        cancellationToken);

    public Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        WriteAsync(session => session.ExecuteAsync($"DELETE FROM dbo.passwords WHERE {OfVersion}", Key(blob)), cancellationToken);

    private protected abstract IBatchCopy Copy(BatchCopyOrder order);

    /// <summary>Deletes the next rows of a load, which the caller has locked.</summary>
    /// <returns>The number of rows deleted; 0 if none is left.</returns>
    private protected abstract Task<int> DeleteRowsAsync(ISqlSession session, LoadId load, int limit);
}
