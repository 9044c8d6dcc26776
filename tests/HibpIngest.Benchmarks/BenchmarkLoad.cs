using HibpIngest.Cli.Samples;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Benchmarks;

/// <summary>Prepares loads in a database of the benchmark's own.</summary>
internal static class BenchmarkLoad
{
    private const string Owner = "bench";
    private static readonly TimeSpan Lease = TimeSpan.FromHours(1);

    /// <summary>The account table of a new store.</summary>
    public static IAccountTable FirstTable(IStoreTables tables) => tables.Accounts(new TablePlace(1, LayoutFacts.Accounts));

    /// <summary>Starts a load of a new blob version.</summary>
    public static async Task<Load> StartAsync(IBreachDatabase database, IngestOptions? options = null, string breach = "Bench")
    {
        var id = (await database.GetHighestIdsAsync(CancellationToken.None)).Load + 1;
        var blob = new BlobVersion($"{breach}.zip", $"\"{Guid.NewGuid():N}\"");
        return await database.StartLoadAsync(
            new NewLoad(id, breach, blob, LoadStart.NewSettings(options ?? new IngestOptions())), CancellationToken.None);
    }

    /// <summary>Acquires a load's lease, and opens its copy.</summary>
    public static async Task<IBatchCopy> OpenCopyAsync(IBreachDatabase database, Load load)
    {
        await database.TryClaimLoadAsync(load.Id, LoadState.Ingesting, Owner, Lease, CancellationToken.None);
        return await database.OpenCopyAsync(new BatchCopyOrder(load.Id, Owner, 1, load.Settings.SliceRows, Lease), CancellationToken.None);
    }

    /// <summary>Records that a slice is in the table.</summary>
    public static async Task CompleteSliceAsync(IBreachDatabase database, Slice slice)
    {
        var work = await database.BeginSliceAsync(slice.Load, slice.Number, Owner, Lease, maxTries: 1, CancellationToken.None);
        await database.CompleteSliceAsync(
            slice.Load, slice.Number, Owner, slice.Count, work!.Layouts.Version, CancellationToken.None);
    }

    /// <summary>Records that all batches have been copied.</summary>
    public static Task FinishAsync(IBreachDatabase database, Load load) =>
        database.FinishIngestAsync(load.Id, Owner, new LoadCheckpoint(), CancellationToken.None);

    /// <summary>Makes a load of sample accounts whose slices are recorded as upserted, in state matching; returns its id.</summary>
    public static async Task<long> StartMatchingAsync(IBreachDatabase database, int rows)
    {
        var settings = LoadStart.NewSettings(new IngestOptions());
        var load = await StartAsync(database);
        await using var copy = await OpenCopyAsync(database, load);
        var accounts = new SampleAccounts(1);
        var buffer = new byte[SampleAccounts.MaxBytes];
        var batch = new AccountBatch(settings.BatchRows);
        for (var next = 0L; next < rows;)
        {
            batch.Clear();
            batch.FirstPosition = next + 1;
            for (; !batch.IsFull && next < rows; next++)
            {
                var account = buffer.AsSpan(0, accounts.Write(next, buffer));
                var at = account.IndexOf((byte)'@');
                batch.Add(account[..at], account[(at + 1)..]);
            }
            await copy.CommitAsync(batch, new LoadCheckpoint(), false, CancellationToken.None);
        }
        await FinishAsync(database, load);
        foreach (var slice in await database.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None))
            await CompleteSliceAsync(database, slice);
        await database.TryStartMatchingAsync(load.Id, CancellationToken.None);
        return load.Id;
    }
}
