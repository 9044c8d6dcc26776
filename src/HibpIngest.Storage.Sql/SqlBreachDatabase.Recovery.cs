namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // Condition on a load r: it was recovered from the journal. It has rows, but no batch was ever copied here.
    private const string IsRecovered = "r.batches = 0 AND r.last_position > 0";

    // Below any layout version: the journal doesn't record where a slice was written.
    private const int NoLayouts = -1;

    // Slices inserted by one statement, with three parameters each.
    private const int SlicesAtOnce = 100;

    /// <summary>
    /// Further columns to set for a recovered load, where <c>@gone</c> says whether its rows were deleted and <c>@slices</c>
    /// is the number of slices; begins with a comma unless empty.
    /// </summary>
    private protected abstract string WithoutRows { get; }

    public Task<RecoveryStep> RecoverLoadAsync(LoadRecovery load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        var known = await LockLoadRowAsync(session, load.Load) ? await ReadKnownAsync(session, load.Load) : null;
        if (known is { Removing: true })
            return RecoveryStep.Removing;
        // The newer of two sources decides a load's breach; anything it doesn't contain is left unchanged.
        var isNewer = known is null || load.Version > known.Version;
        var name = isNewer ? load.Breach.Name : known!.Breach;
        await RefuseOtherAsync(session, load, known, name);
        var isReported = isNewer || Fold(known!.Breach) == Fold(load.Breach.Name);
        var changed = isReported && await RecoverBreachAsync(session, load.Breach);
        var breach = await BreachKeyAsync(session, name);
        var step = RecoveryStep.Known;
        if (known is { PublishedAt: not null })
            changed |= await UpdatePublishedAsync(session, load, known, breach, isNewer);
        else if (known is not { IsDone: true })
        {
            await FinishAsync(session, load, known, breach);
            step = known is null ? RecoveryStep.Added : RecoveryStep.Finished;
        }
        if (step == RecoveryStep.Known && !changed)
            return step;
        // The highest ids are raised last, as wherever ids are inserted; the version, because readers' data has changed.
        await RaiseHighestAsync(session, new StoreIds(load.Load.Value, load.Mark));
        await session.ExecuteAsync("""
            UPDATE dbo.store_counters SET catalogue_version = CASE
                WHEN catalogue_version < @version THEN @version ELSE catalogue_version END + 1
            """, BigInt("@version", Math.Max(load.Version, load.Breach.Version)));
        if (isReported && changed && !load.Breach.IsReported)
            await RaiseJournalVersionAsync(session, "breaches", "folded_name = @folded", Folded(load.Breach.Name));
        return step == RecoveryStep.Known ? RecoveryStep.Updated : step;
    }, cancellationToken, isLong: true);

    public Task<bool> SetReplacedAsync(LoadId load, LoadId by, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        if (!await LockLoadRowAsync(session, load))
            return false;
        if (await session.ExecuteAsync(
            "UPDATE dbo.loads SET published_at = NULL, replaced_by = @by WHERE id = @load AND published_at IS NOT NULL",
            OfLoad(load), Load("@by", by)) == 0)
        {
            return false;
        }
        await RaiseCatalogueVersionAsync(session);
        return true;
    }, cancellationToken);

    // A load of the breach that was recovered from the journal, which doesn't record who was notified. Null if there is none.
    private static Task<LoadId?> FindRecoveredAsync(ISqlSession session, LoadId load) => session.LoadAsync($"""
        SELECT MIN(r.id) FROM dbo.loads l JOIN dbo.loads r ON r.breach = l.breach AND r.id <> l.id
        WHERE l.id = @load AND {IsRecovered}
        """, OfLoad(load));

    // Throws if the recovery would overwrite another load's data.
    private async Task RefuseOtherAsync(ISqlSession session, LoadRecovery load, KnownLoad? known, string breach)
    {
        if (known is not null && (known.Blob, known.Generation, known.StartedAt) != (load.Blob, load.Generation, load.StartedAt))
            throw Refusals.OtherLoad(load.Load);
        if (known is { Mark: not null } && known.Mark != load.Mark)
            throw Refusals.OtherMark(load.Load, known.Mark.Value, load.Mark);
        // In a store upgraded from schema 1, loads of one breach may share a mark.
        var sameMark = await session.LoadAsync("""
            SELECT MIN(l.id) FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
            WHERE l.mark = @mark AND l.id <> @load AND b.folded_name <> @folded
            """, OfLoad(load.Load), Int("@mark", load.Mark), Folded(breach));
        if (sameMark is { } marked)
            throw Refusals.MarkTaken(load.Load, load.Mark, marked);
        var sameVersion = await session.LoadAsync(
            $"SELECT MIN(id) FROM dbo.loads WHERE {OfVersion} AND generation = @generation AND id <> @load",
            [OfLoad(load.Load), Int("@generation", load.Generation), .. Key(load.Blob)]);
        if (sameVersion is { } other)
            throw Refusals.VersionTaken(load.Load, other);
    }

    // Returns whether anything in the breach was older than the journal.
    private static async Task<bool> RecoverBreachAsync(ISqlSession session, BreachRecovery logged)
    {
        var added = await AddBreachAsync(session, logged.Name);
        await LockBreachAsync(session, logged.Name);
        var before = (await session.FirstAsync(
            "SELECT metadata, hidden, published_at, modified_at, log_version FROM dbo.breaches WHERE folded_name = @folded",
            row => new KnownBreach(
                ToText(ToMetadata(row.Text("metadata"))), row.Boolean("hidden"), row.TimeOrNull("published_at"),
                row.TimeOrNull("modified_at"), row.Int64("log_version")),
            Folded(logged.Name)))!;
        var metadata = ToText(logged.Metadata);
        var after = new KnownBreach(metadata, logged.Hidden, logged.PublishedAt, logged.ModifiedAt, logged.Version);
        if (!added && (before.Version >= logged.Version || before with { Version = logged.Version } == after))
            return false;
        await session.ExecuteAsync("""
            UPDATE dbo.breaches SET metadata = @metadata, hidden = @hidden, published_at = @published, modified_at = @modified,
                log_version = @version
            WHERE folded_name = @folded
            """, Folded(logged.Name), LongText("@metadata", metadata), Bit("@hidden", logged.Hidden), At("@published", logged.PublishedAt),
            At("@modified", logged.ModifiedAt), BigInt("@version", logged.Version));
        return true;
    }

    // Updates a load that is published here: it was replaced since, or moved to another breach.
    private static async Task<bool> UpdatePublishedAsync(ISqlSession session, LoadRecovery load, KnownLoad known, int breach, bool isNewer)
    {
        // If its segments are only planned here, the journal stage checks which exist.
        var changed = await session.ExecuteAsync("""
            UPDATE dbo.loads SET log_version = CASE WHEN log_version < @version THEN @version ELSE log_version END,
                logged_version = CASE WHEN logged_version < @version THEN @version ELSE logged_version END
            WHERE id = @load AND (log_version < @version OR logged_version < @version)
            """, OfLoad(load.Load), BigInt("@version", load.Version)) > 0;
        if (load.ReplacedBy is { } by)
        {
            await session.ExecuteAsync(
                "UPDATE dbo.loads SET published_at = NULL, replaced_by = @by WHERE id = @load", OfLoad(load.Load), Load("@by", by));
            changed = true;
        }
        if (!isNewer || breach == known.BreachKey)
            return changed;
        await session.ExecuteAsync("UPDATE dbo.loads SET breach = @to WHERE id = @load", OfLoad(load.Load), Int("@to", breach));
        await MoveNotificationsAsync(session, load.Load, breach);
        await DeleteEmptyBreachAsync(session, known.BreachKey, breach);
        return true;
    }

    // Marks a load done as the journal records it. Its rows here and its unsent notifications are not needed.
    private async Task FinishAsync(ISqlSession session, LoadRecovery load, KnownLoad? known, int breach)
    {
        if (known is null)
            await AddLoadAsync(session, load.Load, breach, load.Blob, load.Settings, load.Generation, heldBecause: null);
        await session.ExecuteAsync("DELETE FROM dbo.notifications WHERE load_id = @load AND state = 'open'", OfLoad(load.Load));
        await session.ExecuteAsync("DELETE FROM dbo.load_domains WHERE load_id = @load", OfLoad(load.Load));
        if (known is not null && known.BreachKey != breach)
            await MoveNotificationsAsync(session, load.Load, breach);
        await session.ExecuteAsync($"""
            UPDATE dbo.loads SET breach = @to, state = 'done', failed_in = NULL, error = NULL, held_because = NULL, superseded = 0,
                attempts = 0, owner = NULL, lease_expires_at = NULL, message_sent_at = NULL, mails_queued = 0,
                mark = @mark, settings = @settings, checkpoint_json = @checkpoint, batches = 0, last_position = @rows,
                matched_position = @rows, accounts = @accounts, ingest_complete = 1,
                duplicates_possible = CASE WHEN @accounts < @rows THEN 1 ELSE 0 END, purging = 1, purged = @gone,
                published_at = CASE WHEN @by IS NULL THEN @published END, replaced_by = @by, started_at = @started,
                ingested_at = COALESCE(ingested_at, @published), upserted_at = COALESCE(upserted_at, @published), finished_at = @published,
                log_version = @version, logged_version = @version, log_error = NULL {WithoutRows}
            WHERE id = @load
            """, OfLoad(load.Load), Int("@to", breach), Int("@mark", load.Mark), LongText("@settings", ToText(load.Settings)),
            LongText("@checkpoint", ToText(new LoadCheckpoint())), BigInt("@rows", load.Rows), BigInt("@accounts", load.Accounts),
            Bit("@gone", known is null), Load("@by", load.ReplacedBy), At("@published", load.PublishedAt),
            At("@started", load.StartedAt), BigInt("@version", load.Version), Int("@slices", load.Slices.Count));
        if (known is not null && known.BreachKey != breach)
            await DeleteEmptyBreachAsync(session, known.BreachKey, breach);
        await AddSlicesAsync(session, load);
        await session.ExecuteAsync("DELETE FROM dbo.log_segments WHERE load_id = @load", OfLoad(load.Load));
        foreach (var segment in load.Segments)
        {
            await session.ExecuteAsync("""
                INSERT INTO dbo.log_segments (load_id, number, first_position, last_position, bytes)
                VALUES (@load, @segment, @first, @last, @bytes)
                """, OfLoad(load.Load), Int("@segment", segment.Number), BigInt("@first", segment.First), BigInt("@last", segment.Last),
                BigInt("@bytes", segment.Bytes));
        }
        foreach (var layout in load.FullLayouts)
            await SetBackfilledAsync(session, layout, load.Load, load.Rows);
    }

    // Keeps slices that were done before: they record which layouts they were written to.
    private static async Task AddSlicesAsync(ISqlSession session, LoadRecovery load)
    {
        await session.ExecuteAsync("DELETE FROM dbo.slices WHERE load_id = @load AND state <> 'done'", OfLoad(load.Load));
        var missing = load.Slices.ToDictionary(slice => slice.Number);
        foreach (var done in await session.ListAsync(
            $"SELECT {SliceColumns} FROM dbo.slices s WHERE s.load_id = @load", ReadSlice, OfLoad(load.Load)))
        {
            if (missing.TryGetValue(done.Number, out var same) && (same.First, same.Last) == (done.First, done.Last))
                missing.Remove(done.Number);
            else
            {
                await session.ExecuteAsync(
                    "DELETE FROM dbo.slices WHERE load_id = @load AND number = @slice", OfLoad(load.Load), Int("@slice", done.Number));
            }
        }
        foreach (var slices in missing.Values.OrderBy(slice => slice.Number).Chunk(SlicesAtOnce))
        {
            var values = slices.Select(
                (_, i) => $"(@load, @n{i}, @f{i}, @l{i}, @l{i} - @f{i} + 1, 'done', @l{i} - @f{i} + 1, @now, @at, @layouts)");
            await session.ExecuteAsync($"""
                INSERT INTO dbo.slices (
                    load_id, number, first_position, last_position, row_count, state, entities, pending_since, done_at, layout_version)
                VALUES {string.Join(", ", values)}
                """, [
                    OfLoad(load.Load), At("@at", load.PublishedAt), Int("@layouts", NoLayouts),
                    .. slices.SelectMany((slice, i) => (Parameter[])[
                        Int($"@n{i}", slice.Number), BigInt($"@f{i}", slice.First), BigInt($"@l{i}", slice.Last)]),
                ]);
        }
    }

    private static Task<KnownLoad?> ReadKnownAsync(ISqlSession session, LoadId load) => session.FirstAsync("""
        SELECT l.blob, l.etag, l.generation, l.started_at, l.mark, l.published_at, l.removing, l.log_version, l.breach, b.name,
            CAST(CASE WHEN l.state = 'done' AND l.replaced_by IS NOT NULL THEN 1 ELSE 0 END AS bit) AS is_done
        FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach WHERE l.id = @load
        """,
        row => new KnownLoad(
            Blob: new BlobVersion(row.Text("blob"), row.Text("etag")),
            Generation: row.Int32("generation"),
            StartedAt: row.Time("started_at"),
            Mark: row.Int32OrNull("mark"),
            PublishedAt: row.TimeOrNull("published_at"),
            Removing: row.Boolean("removing"),
            Version: row.Int64("log_version"),
            BreachKey: row.Int32("breach"),
            Breach: row.Text("name"),
            IsDone: row.Boolean("is_done")),
        OfLoad(load));

    /// <param name="Version">The catalogue version at which the load's own data last changed.</param>
    /// <param name="IsDone">True if it was published and then replaced by another load.</param>
    private sealed record KnownLoad(
        BlobVersion Blob, int Generation, DateTimeOffset StartedAt, int? Mark, DateTimeOffset? PublishedAt, bool Removing, long Version,
        int BreachKey, string Breach, bool IsDone);

    private sealed record KnownBreach(string Metadata, bool Hidden, DateTimeOffset? PublishedAt, DateTimeOffset? ModifiedAt, long Version);
}
