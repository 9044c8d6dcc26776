using System.IO.Compression;
using HibpIngest.Cli.Emulator;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a load under <c>hibp run</c> as a process, with a <see cref="ThrottlingTableServer"/> in front of the
/// emulator's tables, from the upload until it is done.
/// </summary>
internal sealed class ThrottledLoad(string folder)
{
    private const double MaxWritesPerEntity = 1.05;
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(20);

    /// <summary>Prints the figures; returns false if a requirement is missed.</summary>
    /// <param name="fakesWrites">The server acknowledges writes without storing them: the emulator gets slow with many accounts.</param>
    /// <param name="maxRatio">Maximum duration, as a multiple of the shortest time that the limits allow.</param>
    public async Task<bool> RunAsync(int accounts, TableLimits limits, bool fakesWrites, double maxRatio)
    {
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        var table = ConnectionStrings.Endpoint(emulator.ConnectionString, "Table");
        await using var server = await ThrottlingTableServer.StartAsync(limits, table, fakesWrites);
        var connection = ConnectionStrings.WithTables(emulator.ConnectionString, server.Address);
        var file = Path.Combine(folder, "hibp.db");
        var zip = Path.Combine(folder, "Throttled.zip");
        await WriteAsync(zip, accounts);

        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = connection,
            ["HIBP_DATABASE"] = file,
            ["HIBP_MAIL"] = $"pickup:{folder}/mail",
        };
        await using var host = HibpProcess.Start(folder, variables, "run");
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await account.Blobs.CreateAsync(CancellationToken.None);
        var began = Stopwatch.GetTimestamp();
        using (var content = File.OpenRead(zip))
            await account.Blobs.UploadAsync("Throttled.zip", content, null, CancellationToken.None);
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var load = await WaitForLoadAsync(host, database, 1);
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;

        var deferred = host.Error.Split('\n').Count(line => line.Contains("message deferred for", StringComparison.Ordinal));
        var minSeconds = ThrottledRows.Bound(accounts, limits);
        var written = (double)server.Accepted / accounts;
        Console.WriteLine("| accounts | s | bound s | times the bound | refused | written / entities | deferred |");
        Console.WriteLine("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        Console.WriteLine(
            $"| {accounts:N0} | {seconds:F1} | {minSeconds:F1} | {seconds / minSeconds:F2} | "
            + $"{server.Refused:P1} | {written:F3} | {deferred} |");
        return load.State == LoadState.Done && load.Entities == accounts && seconds <= maxRatio * minSeconds
            && written is >= 1 and <= MaxWritesPerEntity && deferred == 0;
    }

    /// <summary>Waits until a load is done or failed, and returns it.</summary>
    public static async Task<Load> WaitForLoadAsync(HibpProcess host, SqliteBreachDatabase database, long id)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(250));
        var began = Stopwatch.GetTimestamp();
        while (await timer.WaitForNextTickAsync())
        {
            if (host.HasExited)
                throw new InvalidOperationException($"hibp run ended: {host.Error}");
            if (Stopwatch.GetElapsedTime(began) > TestTimeout)
                throw new TimeoutException($"the load was not done after {TestTimeout}");
            if (await database.GetSchemaVersionAsync(CancellationToken.None) is not { Found: > 0 })
                continue;
            if (await database.GetLoadAsync(new(id), CancellationToken.None) is { State: LoadState.Done or LoadState.Failed } load)
                return load;
        }
        throw new InvalidOperationException("the timer ended");
    }

    private static async Task WriteAsync(string file, int accounts)
    {
        await using var zip = new ZipArchive(File.Create(file), ZipArchiveMode.Create);
        await using var entry = new BufferedStream(zip.CreateEntry("accounts.txt", CompressionLevel.Fastest).Open(), 1 << 16);
        for (var i = 0; i < accounts; i++)
        {
            var (alias, domain) = ThrottledRows.Account(i);
            entry.Write(alias);
            entry.WriteByte((byte)'@');
            entry.Write(domain);
            entry.WriteByte((byte)'\n');
        }
    }
}
