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
    private const int ImportAtOnce = 10_000;

    /// <param name="readsOf">Returns how many of the load's rows and of the subscribers the server has read so far by
    /// its own count; null if it has no count.</param>
    /// <returns>True if it read no more than the load once, the subscribers once for each range, and the subscriber
    /// of each notification written.</returns>
    public async Task<bool> RunAsync(Func<Task<long?>> readsOf)
    {
        await ImportAsync();
        var load = await PreparedLoad.StartMatchingAsync(database, rows);
        var before = await readsOf();
        var matched = await MatchAsync(load);
        var read = await readsOf() - before;
        var written = (await database.GetLoadAsync(load, CancellationToken.None))!.Notifications.Open;
        var began = Stopwatch.GetTimestamp();
        while (await database.FinishMatchingAsync(load, new MatchEnd(null, Hold: true), CancellationToken.None) == LoadState.Matching)
        {
            // The next step.
        }
        var finished = Stopwatch.GetElapsedTime(began);
        var readAtLast = await readsOf() - before - read;

        var found = (await database.GetLoadAsync(load, CancellationToken.None))!;
        Console.WriteLine($"{rows:N0} rows, {people:N0} individual and {domains:N0} domain subscribers: matched in "
            + $"{matched.TotalSeconds:F1} s, finished in {finished.TotalSeconds:F1} s more, {found.Notifications.Open:N0} notifications");
        if (read is not { } count)
            return true;
        // Each range is one statement that reads its rows and the subscribers once; for the foreign key, the server
        // looks up the subscriber of each notification written.
        var ranges = ((rows - 1) / range) + 1;
        var allowed = rows + ((long)ranges * (people + domains)) + written;
        Console.WriteLine($"rows read by the server's own count: {count:N0}; {rows:N0} of the load, {people + domains:N0} subscribers in "
            + $"each of {ranges:N0} ranges and {written:N0} looked up for notifications are {allowed:N0}; then at the finish "
            + $"{readAtLast:N0}");
        return count <= allowed;
    }

    /// <summary>Measures matching in a SQLite file beside reading the same rows and nothing else.</summary>
    public async Task MeasureAsync(string file, Pairs pairs)
    {
        await ImportAsync();
        var load = await PreparedLoad.StartMatchingAsync(database, rows);
        await pairs.MeasureAsync("match", "row", () => Task.FromResult(((double)rows, Scan(file))), async () =>
        {
            using (var again = Open(file))
            {
                Check(raw.sqlite3_exec(
                    again, "DELETE FROM notifications; DELETE FROM load_domains; UPDATE loads SET matched_position = 0"));
            }
            return (rows, await MatchAsync(load));
        });
    }

    private static TimeSpan Scan(string file)
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

    private async Task<TimeSpan> MatchAsync(LoadId load)
    {
        var began = Stopwatch.GetTimestamp();
        for (var after = 0L; after < rows; after += range)
        {
            if (!await database.MatchRowsAsync(load, after, Math.Min(after + range, rows), TimeSpan.FromSeconds(30),
                CancellationToken.None))
                throw new InvalidOperationException("a range was not matched");
            Console.Error.WriteLine(
                $"match {Math.Min(after + range, rows):N0}/{rows:N0}: {Stopwatch.GetElapsedTime(began).TotalSeconds:F1} s");
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
