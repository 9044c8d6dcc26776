namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    public Task<LayoutSet> GetLayoutsAsync(CancellationToken cancellationToken) => ReadAsync(ReadLayoutsAsync, cancellationToken);

    public Task<LayoutSet> AddFirstLayoutAsync(StoreLayout layout, bool isFromRegister, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            // Locks the row that assigning a mark updates: a mark is committed before this, or is assigned after it.
            await RaiseLayoutVersionAsync(session, "NOT EXISTS (SELECT 1 FROM dbo.layouts)");
            await session.ExecuteAsync("""
                INSERT INTO dbo.layouts (id, facts, ranges, added_version)
                SELECT @layout, @facts, CASE WHEN @isFromRegister = 1 OR highest_mark = 0 THEN @ranges ELSE 0 END, 0
                FROM dbo.store_counters WHERE NOT EXISTS (SELECT 1 FROM dbo.layouts)
                """, Layout(layout.Id), Bit("@isFromRegister", isFromRegister), Int("@ranges", (int)layout.Ranges),
                LongText("@facts", layout.Facts.ToJson()));
            return await ReadLayoutsAsync(session);
        }, cancellationToken);

    public Task<LayoutSet> AddLayoutAsync(StoreLayout layout, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // Locks the row: of two concurrent additions, the second sees the first.
        await session.ExecuteAsync("UPDATE dbo.store_counters SET layout_version = layout_version");
        var known = (await ReadAllLayoutsAsync(session)).Find(one => one.Id == layout.Id || one.Facts.SharesTables(layout.Facts));
        if (known is not null && (known.Id, known.Facts, known.IsDropped) == (layout.Id, layout.Facts, false))
            return await ReadLayoutsAsync(session);
        if (known is not null)
        {
            throw new NotPossibleException(known.IsDropped
                ? $"layout {known.Name} was dropped, and its name can't be reused: choose another"
                : $"layout {known.Name} already exists, number {known.Id}: choose another name");
        }
        await RaiseLayoutVersionAsync(session, "1 = 1");
        await session.ExecuteAsync("""
            INSERT INTO dbo.layouts (id, facts, ranges, added_version)
            SELECT @layout, @facts, @ranges, layout_version FROM dbo.store_counters
            """, Layout(layout.Id), Int("@ranges", (int)layout.Ranges), LongText("@facts", layout.Facts.ToJson()));
        return await ReadLayoutsAsync(session);
    }, cancellationToken);

    public Task<LayoutSet> DropLayoutAsync(int layout, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        const string Written = "id = @layout AND dropped = 0";
        const string Another = "EXISTS (SELECT 1 FROM dbo.layouts WHERE id <> @layout AND dropped = 0)";
        var raised = await RaiseLayoutVersionAsync(
            session, $"EXISTS (SELECT 1 FROM dbo.layouts WHERE {Written}) AND {Another}", Layout(layout));
        if (raised > 0)
        {
            await session.ExecuteAsync($"UPDATE dbo.layouts SET dropped = 1 WHERE {Written}", Layout(layout));
            await session.ExecuteAsync("DELETE FROM dbo.layout_loads WHERE layout_id = @layout", Layout(layout));
        }
        return await ReadLayoutsAsync(session);
    }, cancellationToken);

    public Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<StoreLayout>>(async session => await ReadAllLayoutsAsync(session), cancellationToken);

    public async Task<long> CountMissingAsync(int layout, CancellationToken cancellationToken) =>
        (await ListMissingAsync(layout, cancellationToken)).Sum(load => load.Rows);

    public Task<IReadOnlyList<MissingRows>> ListMissingAsync(int layout, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<MissingRows>>(async session =>
        {
            // For each load: the rows that its slices have not written to this layout, minus the replayed ones. A current load must
            // have every row there, in any state of its slices. Any other load must have the rows it has written already, as it
            // may count later, unless it was replaced or its rows were purged. A replay covers the whole load, or the slices that were
            // done before the layout was added; slices that were requeued since then are no longer among those, and the replayed rows
            // don't count for other slices.
            var missing = await session.ListAsync("""
                SELECT l.id, SUM(CASE s.state WHEN 'done' THEN CAST(0 AS bigint) ELSE CAST(s.row_count AS bigint) END) AS open_rows,
                    SUM(CASE s.state WHEN 'done' THEN CAST(s.row_count AS bigint) ELSE CAST(0 AS bigint) END) AS done_before,
                    COALESCE(MAX(r.row_count), 0) AS replayed,
                    (SELECT SUM(CAST(t.row_count AS bigint)) FROM dbo.slices t WHERE t.load_id = l.id) AS all_rows
                FROM dbo.layouts y
                    JOIN dbo.slices s ON NOT (s.state = 'done' AND s.layout_version >= y.added_version)
                    JOIN dbo.loads l ON l.id = s.load_id
                    LEFT JOIN dbo.layout_loads r ON r.layout_id = y.id AND r.load_id = l.id
                WHERE y.id = @layout AND l.removing = 0 AND (l.published_at IS NOT NULL OR (
                    s.state = 'done' AND l.superseded = 0 AND l.superseded_by IS NULL AND l.replaced_by IS NULL AND l.purging = 0))
                GROUP BY l.id ORDER BY l.id
                """,
                row => new MissingRows(
                    row.Load("id"),
                    row.Int64("replayed") >= row.Int64("all_rows")
                        ? 0 : row.Int64("open_rows") + Math.Max(row.Int64("done_before") - row.Int64("replayed"), 0)),
                Layout(layout));
            return [.. missing.Where(load => load.Rows > 0)];
        }, cancellationToken);

    public Task<IReadOnlyList<(long First, long Last)>> ListMissingSlicesAsync(
        int layout, LoadId load, CancellationToken cancellationToken) => ListAsync("""
        SELECT s.first_position, s.last_position
        FROM dbo.layouts y JOIN dbo.slices s ON s.state = 'done' AND s.layout_version < y.added_version
        WHERE y.id = @layout AND s.load_id = @load ORDER BY s.first_position
        """, row => (row.Int64("first_position"), row.Int64("last_position")), cancellationToken, Layout(layout), OfLoad(load));

    public Task<string?> GetRebuildAsync(int layout, CancellationToken cancellationToken) => GetAsync("rebuild", layout, cancellationToken);

    public Task SetRebuildAsync(int layout, string? rebuild, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.layouts SET rebuild = @rebuild WHERE id = @layout AND dropped = 0",
        cancellationToken, Layout(layout), LongText("@rebuild", rebuild));

    public Task<bool> SetBackfilledAsync(int layout, LoadId load, long rows, bool withRanges, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            // Locks the row that raising the layout's ranges updates: that scan begins after this, or this finds them raised.
            await session.ExecuteAsync("UPDATE dbo.store_counters SET layout_version = layout_version");
            if (!withRanges && await session.AnyAsync("SELECT 1 FROM dbo.layouts WHERE id = @layout AND ranges > 0", Layout(layout)))
                return false;
            await SetBackfilledAsync(session, layout, load, rows);
            return true;
        }, cancellationToken);

    public Task<LayoutSet> RaiseRangesAsync(int layout, RangesState state, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            // Lock order: the counters' row first, as when a layout is added.
            Parameter[] parameters = [Layout(layout), Int("@ranges", (int)state)];
            const string Lower = "id = @layout AND ranges < @ranges AND dropped = 0";
            await RaiseLayoutVersionAsync(session, $"EXISTS (SELECT 1 FROM dbo.layouts WHERE {Lower})", parameters);
            await session.ExecuteAsync($"UPDATE dbo.layouts SET ranges = @ranges WHERE {Lower}", parameters);
            return await ReadLayoutsAsync(session);
        }, cancellationToken);

    public Task<string?> GetRangesFillAsync(int layout, CancellationToken cancellationToken) => GetAsync("fill", layout, cancellationToken);

    public Task SetRangesFillAsync(int layout, string fill, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.layouts SET fill = @fill WHERE id = @layout AND ranges = 1",
        cancellationToken, Layout(layout), LongText("@fill", fill));

    private Task<string?> GetAsync(string column, int layout, CancellationToken cancellationToken) => ReadAsync(
        session => session.FirstAsync(
            $"SELECT {column} FROM dbo.layouts WHERE id = @layout", row => row.TextOrNull(column), Layout(layout)),
        cancellationToken);

    private static async Task SetBackfilledAsync(ISqlSession session, int layout, LoadId load, long rows)
    {
        Parameter[] parameters = [Layout(layout), OfLoad(load), BigInt("@rows", rows)];
        const string Set = "UPDATE dbo.layout_loads SET row_count = @rows WHERE layout_id = @layout AND load_id = @load";
        if (await session.ExecuteAsync(Set, parameters) > 0)
            return;
        await session.ExecuteAsync("""
            INSERT INTO dbo.layout_loads (layout_id, load_id, row_count)
            SELECT y.id, l.id, @rows FROM dbo.layouts y JOIN dbo.loads l ON l.id = @load
            WHERE y.id = @layout AND y.dropped = 0 AND l.removing = 0
            """, parameters);
    }

    // One statement, so that version and set are consistent.
    private static async Task<LayoutSet> ReadLayoutsAsync(ISqlSession session)
    {
        var rows = await session.ListAsync("""
            SELECT l.id, l.facts, l.ranges, l.dropped, c.layout_version
            FROM dbo.store_counters c LEFT JOIN dbo.layouts l ON l.dropped = 0 ORDER BY l.id
            """, row => (Version: row.Int32("layout_version"), Layout: row.IsNull("id") ? null : ReadLayout(row)));
        return new LayoutSet(rows[0].Version, [.. rows.Select(row => row.Layout).OfType<StoreLayout>()]);
    }

    // Includes dropped layouts.
    private static Task<List<StoreLayout>> ReadAllLayoutsAsync(ISqlSession session) =>
        session.ListAsync("SELECT id, facts, ranges, dropped FROM dbo.layouts ORDER BY id", ReadLayout);

    private static StoreLayout ReadLayout(IRow row) => new()
    {
        Id = row.Int32("id"),
        Facts = LayoutFacts.Parse(row.Text("facts")),
        Ranges = (RangesState)row.Int32("ranges"),
        IsDropped = row.Boolean("dropped"),
    };

    private static Task<int> RaiseLayoutVersionAsync(ISqlSession session, string condition, params Parameter[] parameters) =>
        session.ExecuteAsync($"UPDATE dbo.store_counters SET layout_version = layout_version + 1 WHERE {condition}", parameters);

    private static Parameter Layout(int layout) => Int("@layout", layout);
}
