using HibpIngest.Cli.Samples;
using SQLitePCL;
using static HibpIngest.Benchmarks.BareSqlite;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures matching a load: the time, and the rows read according to the server, compared with the load's rows plus
/// the subscribers for each range. Half of the people and of the domains are in the load.
/// </summary>
internal sealed class MatchBenchmark(IBreachDatabase database, int rows, int people, int domains, int range)
{
    /// <summary>SQL by which a database forgets that its load was matched.</summary>
    public const string Reset = "DELETE FROM notifications; DELETE FROM load_domains; UPDATE loads SET matched_position = 0";

    private const int ImportAtOnce = 10_000;

    private LoadId _load;

    /// <summary>Measures the match beside its ceiling.</summary>
    public async Task MeasureAsync(Pairs pairs, Func<Task<TimeSpan>> ceiling, Func<Task> reset)
    {
        await ImportAsync();
        _load = await PreparedLoad.StartMatchingAsync(database, rows);
        await pairs.MeasureAsync("match", "row", async () => (rows, await ceiling()), async () =>
        {
            await reset();
            return (rows, await MatchAsync());
        });
        await reset();
    }

    /// <summary>Matches once more, after <see cref="MeasureAsync"/>.</summary>
    /// <param name="readsOf">How many of the load's rows and of the subscribers the server has read by its count; null without one.</param>
    /// <returns>True if it read no more than the load once, the subscribers in each range, and that of each notification written.</returns>
    public async Task<bool> CountAsync(Func<Task<long?>> readsOf)
    {
        var before = await readsOf();
        await MatchAsync();
        if (await readsOf() - before is not { } count)
            return true;
        var written = (await database.GetLoadAsync(_load, CancellationToken.None))!.Notifications.Open;
        var ranges = ((rows - 1) / range) + 1;
        var allowed = rows + ((long)ranges * (people + domains)) + written;
        Console.WriteLine($"rows read by the server's own count: {count:N0}; {rows:N0} of the load, {people + domains:N0} subscribers in "
            + $"each of {ranges:N0} ranges and {written:N0} looked up by the foreign key of notifications are {allowed:N0}");
        return count <= allowed;
    }

    /// <summary>Only reads the rows of a SQLite file.</summary>
    public static TimeSpan Scan(string file)
    {
        using var database = Open(file);
        Check(raw.sqlite3_prepare_v2(database, "SELECT domain, alias FROM rows", out var row));
        using (row)
        {
            var began = Stopwatch.GetTimestamp();
            var bytes = 0L;
            while (raw.sqlite3_step(row) == raw.SQLITE_ROW)
                bytes += raw.sqlite3_column_blob(row, 0).Length + raw.sqlite3_column_blob(row, 1).Length;
            return bytes > 0 ? Stopwatch.GetElapsedTime(began) : throw new InvalidOperationException("there are no rows");
        }
    }

    private async Task<TimeSpan> MatchAsync()
    {
        var began = Stopwatch.GetTimestamp();
        for (var after = 0L; after < rows; after += range)
        {
            var upTo = Math.Min(after + range, rows);
            if (!await database.MatchRowsAsync(_load, after, upTo, TimeSpan.FromSeconds(30), CancellationToken.None))
                throw new InvalidOperationException("a range was not matched");
        }
        return Stopwatch.GetElapsedTime(began);
    }

    private async Task ImportAsync()
    {
        var accounts = new SampleAccounts(1);
        var strangers = new SampleAccounts(2);
        var names = new HashSet<string>(StringComparer.Ordinal);
        var buffer = new byte[SampleAccounts.MaxBytes];
        var subscriptions = new List<Subscription>(people + domains);
        var step = Math.Max(1, rows / Math.Max(1, people / 2));
        for (var i = 0; i < people; i++)
            subscriptions.Add(new Subscription(Text(i % 2 == 0 ? accounts : strangers, (long)(i / 2) * step), null));
        for (var i = 0L; names.Count < domains / 2 && i < rows; i++)
            names.Add(Text(accounts, i).Split('@')[1]);
        for (var i = 0; names.Count < domains; i++)
            names.Add($"nobody{i}.example.com");
        subscriptions.AddRange(names.Select(domain => new Subscription($"owner@{domain}", domain)));
        foreach (var chunk in subscriptions.Chunk(ImportAtOnce))
            await database.ImportSubscribersAsync(chunk, null, CancellationToken.None);

        string Text(SampleAccounts from, long index) => Encoding.ASCII.GetString(buffer.AsSpan(0, from.Write(index, buffer)));
    }
}
