using System.Text.Json;
using HibpIngest.Stores;
using static HibpIngest.Sql.Parameter;

namespace HibpIngest.Sql;

public abstract partial class SqlBreachDatabase
{
    /// <inheritdoc/>
    public Task<LayoutSet> GetLayoutsAsync(CancellationToken cancellationToken) => ReadAsync(ReadLayoutsAsync, cancellationToken);

    /// <inheritdoc/>
    public Task<LayoutSet> AddFirstLayoutAsync(StoreLayout layout, bool filled, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // Holds the row that whoever gives a mark raises: a mark is there before this, or comes after it.
                await RaiseLayoutVersionAsync(session, "NOT EXISTS (SELECT 1 FROM dbo.layouts)");
                await session.ExecuteAsync(
                    """
                    INSERT INTO dbo.layouts (id, facts, ranges)
                    SELECT @layout, @facts, CASE WHEN @filled = 1 OR highest_mark = 0 THEN @ranges ELSE 0 END
                    FROM dbo.store_counters WHERE NOT EXISTS (SELECT 1 FROM dbo.layouts)
                    """,
                    Layout(layout.Id), Bit("@filled", filled), Int("@ranges", (int)layout.Ranges),
                    LongText("@facts", JsonSerializer.Serialize(layout.Facts, LayoutJson.Default.LayoutFacts)));
                return await ReadLayoutsAsync(session);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<LayoutSet> RaiseRangesAsync(int layout, RangesState state, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // The counters' row first, as where a layout is added.
                Parameter[] parameters = [Layout(layout), Int("@ranges", (int)state)];
                const string Lower = "id = @layout AND ranges < @ranges";
                await RaiseLayoutVersionAsync(session, $"EXISTS (SELECT 1 FROM dbo.layouts WHERE {Lower})", parameters);
                await session.ExecuteAsync($"UPDATE dbo.layouts SET ranges = @ranges WHERE {Lower}", parameters);
                return await ReadLayoutsAsync(session);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<string?> GetFillAsync(int layout, CancellationToken cancellationToken) =>
        ReadAsync(
            async session =>
            {
                var rows = await session.ListAsync(
                    "SELECT fill FROM dbo.layouts WHERE id = @layout", row => row.TextOrNull(0), Layout(layout));
                return rows is [var fill, ..] ? fill : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task SetFillAsync(int layout, string fill, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                "UPDATE dbo.layouts SET fill = @fill WHERE id = @layout AND ranges = 1", Layout(layout), LongText("@fill", fill)),
            cancellationToken);

    /// <summary>In one statement, so that version and set are of one moment.</summary>
    private static async Task<LayoutSet> ReadLayoutsAsync(ISqlSession session)
    {
        var rows = await session.ListAsync(
            """
            SELECT c.layout_version, l.id, l.facts, l.ranges FROM dbo.store_counters c LEFT JOIN dbo.layouts l ON l.id > 0 ORDER BY l.id
            """,
            row => (Version: row.Int32(0), Layout: row.IsNull(1) ? null : new StoreLayout
            {
                Id = row.Int32(1),
                Facts = JsonSerializer.Deserialize(row.Text(2), LayoutJson.Default.LayoutFacts)!,
                Ranges = (RangesState)row.Int32(3),
            }));
        return new LayoutSet(rows[0].Version, [.. rows.Select(row => row.Layout).OfType<StoreLayout>()]);
    }

    private static Task<int> RaiseLayoutVersionAsync(ISqlSession session, string condition, params Parameter[] parameters) =>
        session.ExecuteAsync($"UPDATE dbo.store_counters SET layout_version = layout_version + 1 WHERE {condition}", parameters);

    private static Parameter Layout(int layout) => Int("@layout", layout);
}
