using HibpIngest.Cli.Samples;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Testing;

/// <summary>Prepares loads in a database without the stages before the one that is measured or tested.</summary>
internal static class PreparedLoad
{
    private const string Owner = "bench";
    private static readonly TimeSpan Lease = TimeSpan.FromHours(1);

    public static async Task<Load> StartAsync(IBreachDatabase database, IngestOptions? options = null, string breach = "Bench")
    {
        var id = new LoadId((await database.GetHighestIdsAsync(CancellationToken.None)).Load + 1);
        var blob = new BlobVersion($"{breach}.zip", $"\"{Guid.NewGuid():N}\"");
        await database.StartLoadAsync(
            new NewLoad(id, breach, blob, LoadStart.NewSettings(options ?? new IngestOptions())), CancellationToken.None);
        return (await database.GetLoadAsync(id, CancellationToken.None))!;
    }

    public static async Task<IBatchCopy> OpenCopyAsync(IBreachDatabase database, Load load)
    {
        await database.TryClaimLoadAsync(load.Id, LoadState.Ingesting, Owner, Lease, CancellationToken.None);
        return await database.OpenCopyAsync(new BatchCopyOrder(load.Id, Owner, 1, load.Settings.SliceRows, Lease), CancellationToken.None);
    }

    /// <summary>Starts a load and copies its rows. Its ingest isn't finished, so that matching doesn't start.</summary>
    public static async Task<Load> CopyAsync(
        IBreachDatabase database, IEnumerable<AccountBatch> batches, IngestOptions? options = null, string breach = "Bench")
    {
        var load = await StartAsync(database, options, breach);
        await using var copy = await OpenCopyAsync(database, load);
        foreach (var batch in batches)
            await copy.CommitAsync(batch, new LoadCheckpoint(), false, CancellationToken.None);
        return load;
    }

    /// <param name="add">Adds the row with this 0-based number.</param>
    public static IEnumerable<AccountBatch> Batches(
        int rows, Action<AccountBatch, int> add, int batchRows = LoadSettings.DefaultBatchRows)
    {
        for (var next = 0; next < rows;)
        {
            var batch = new AccountBatch(batchRows) { FirstPosition = next + 1 };
            for (; !batch.IsFull && next < rows; next++)
                add(batch, next);
            yield return batch;
        }
    }

    public static IEnumerable<AccountBatch> SampleBatches(int rows)
    {
        var samples = new SampleAccounts(1);
        return Batches(rows, (batch, number) => batch.Add(samples, number));
    }

    public static void Add(this AccountBatch batch, SampleAccounts samples, long number)
    {
        Span<byte> buffer = stackalloc byte[SampleAccounts.MaxBytes];
        var account = buffer[..samples.Write(number, buffer)];
        var at = account.IndexOf((byte)'@');
        batch.Add(account[..at], account[(at + 1)..]);
    }

    /// <summary>Records that a slice is in the table.</summary>
    public static async Task CompleteSliceAsync(IBreachDatabase database, Slice slice)
    {
        var work = await database.BeginSliceAsync(slice.Load, slice.Number, Owner, Lease, maxTries: 1, CancellationToken.None);
        await database.CompleteSliceAsync(
            slice.Load, slice.Number, Owner, slice.Count, work!.Layouts.Version, CancellationToken.None);
    }

    public static Task FinishAsync(IBreachDatabase database, Load load) =>
        database.FinishIngestAsync(load.Id, Owner, new LoadCheckpoint(), CancellationToken.None);

    /// <summary>Makes a load of sample accounts whose slices are recorded as upserted, in state matching; returns its id.</summary>
    public static async Task<LoadId> StartMatchingAsync(IBreachDatabase database, int rows)
    {
        var load = await CopyAsync(database, SampleBatches(rows));
        await FinishAsync(database, load);
        foreach (var slice in await database.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None))
            await CompleteSliceAsync(database, slice);
        await database.TryStartMatchingAsync(load.Id, CancellationToken.None);
        return load.Id;
    }

    /// <summary>Runs a slice without a queue.</summary>
    /// <exception cref="UnavailableException">The table throttles; the slice was released.</exception>
    public static async Task RunAsync(this UpsertSlice stage, Slice slice, CancellationToken cancellationToken = default)
    {
        await using var run = await stage.ClaimAsync(
            new SliceMessage { Load = slice.Load.Value, Slice = slice.Number }, cancellationToken);
        if (run is null)
            return;
        try
        {
            await stage.RunAsync(run, cancellationToken);
        }
        catch (UnavailableException e)
        {
            await stage.ReleaseAsync(run, e);
            throw;
        }
    }
}
