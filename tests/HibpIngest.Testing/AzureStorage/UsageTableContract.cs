namespace HibpIngest.Testing;

public abstract class UsageTableContract
{
    private static readonly DateTimeOffset Hour = new(2026, 11, 22, 23, 0, 0, TimeSpan.Zero);

    /// <summary>Returns a table that hasn't been created.</summary>
    protected abstract Task<IUsageTable> NewTableAsync();

    [Fact]
    public async Task Table_is_empty_before_it_is_created()
    {
        var table = await NewTableAsync();
        Assert.Empty(await ReadAsync(table, Hour, Hour.AddHours(1)));
        await table.CreateAsync(None);
        await table.CreateAsync(None);
        Assert.Empty(await ReadAsync(table, Hour, Hour.AddHours(1)));
        await table.WriteAsync("2026112223/a-0000.log", [], None);
    }

    [Fact]
    public async Task Rows_with_any_route_are_read_back_unchanged()
    {
        var table = await NewCreatedAsync();
        // Every character that a key can't contain, and the separator and escape characters.
        string[] routes =
        [
            "/", "/range/{prefix}", "\\range\\{prefix}", "/range#{prefix}", "/range?mode={mode}", "/a|b", "/a!2Fb", "/a/b", "/100%",
            "/it's", "/\u0001\u007f\u0085", "/größe", "",
        ];
        List<UsageRow> rows = [.. routes.Select((route, i) => new UsageRow(Hour, route, 200 + i, i % 2 == 0 ? "" : "00ff00ff00ff00ff")
        {
            Requests = i,
            Bytes = long.MaxValue - i,
            Microseconds = (1L << 33) + i,
            LongestMicroseconds = uint.MaxValue,
        })];
        await table.WriteAsync("2026112223/a-0000.log", rows, None);
        Assert.Equal(Order(rows), Order(await ReadAsync(table, Hour, Hour.AddHours(1))));
    }

    [Fact]
    public async Task Rewriting_a_blobs_rows_replaces_only_those_rows()
    {
        var table = await NewCreatedAsync();
        var row = new UsageRow(Hour, "/range/{prefix}", 200, "") { Requests = 5, Bytes = 7, Microseconds = 9, LongestMicroseconds = 4 };
        await table.WriteAsync("2026112223/a-0000.log", [row], None);
        await table.WriteAsync("2026112223/a-0000.log", [row], None);
        Assert.Equal([row], await ReadAsync(table, Hour, Hour.AddHours(1)));
        await table.WriteAsync("2026112223/a-0000.log", [row with { Requests = 6 }], None);
        Assert.Equal([row with { Requests = 6 }], await ReadAsync(table, Hour, Hour.AddHours(1)));
        // Each row differs in its blob, status, key or route.
        UsageRow[] others = [row with { Status = 404 }, row with { Key = "00ff00ff00ff00ff" }, row with { Route = "/" }];
        await table.WriteAsync("2026112223/a-0001.log", [row], None);
        await table.WriteAsync("2026112223/a-0000.log", others, None);
        Assert.Equal(
            Order([row with { Requests = 6 }, row, .. others]), Order(await ReadAsync(table, Hour, Hour.AddHours(1))));
    }

    [Fact]
    public async Task Rows_beyond_one_transaction_are_written_and_read_by_hour_range()
    {
        var table = await NewCreatedAsync();
        List<UsageRow> rows =
        [
            .. Enumerable.Range(0, 3).SelectMany(hour => Enumerable.Range(0, 250).Select(
                i => new UsageRow(Hour.AddHours(hour), $"/{i % 50}", 200 + (i / 50), "") { Requests = i + 1 })),
        ];
        await table.WriteAsync("2026112223/a-0000.log", rows, None);
        Assert.Equal(Order(rows), Order(await ReadAsync(table, Hour, Hour.AddHours(3))));
        // Across midnight.
        Assert.Equal(Order(rows.Skip(250).Take(250)), Order(await ReadAsync(table, Hour.AddHours(1), Hour.AddHours(2))));
        Assert.Empty(await ReadAsync(table, Hour.AddHours(-5), Hour));
        Assert.Empty(await ReadAsync(table, Hour.AddHours(3), Hour.AddHours(30)));
    }

    private async Task<IUsageTable> NewCreatedAsync()
    {
        var table = await NewTableAsync();
        await table.CreateAsync(None);
        return table;
    }

    private static IEnumerable<string> Order(IEnumerable<UsageRow> rows) =>
        rows.Select(row => row.ToString()).Order(StringComparer.Ordinal);

    private static async Task<List<UsageRow>> ReadAsync(IUsageTable table, DateTimeOffset from, DateTimeOffset to) =>
        await table.ReadAsync(from, to, None).ToListAsync();
}
