namespace HibpIngest.Pipeline.Upsert;

/// <summary>Begins attempts of slices: each under its own lease, with what it needs to read the rows and write the tables.</summary>
public sealed class SliceRuns(
    ISlices slices, JournaledRows rows, IStoreTables tables, IOptions<UpsertOptions> options, IOptions<IngestOptions> ingest,
    IOptions<RetryOptions> retry, TimeProvider time)
{
    private readonly SharedTransactions _shared = new();

    public TimeSpan Lease => options.Value.SliceLease;

    /// <returns>Null if there is no such slice, or it may not be written any more.</returns>
    internal async Task<SliceClaim?> BeginAsync(SliceMessage message, CancellationToken cancellationToken)
    {
        var owner = LoadLeases.NewOwner();
        var maxTries = retry.Value.MaxTries + message.Deferrals;
        return await slices.BeginSliceAsync(message.LoadId, message.Slice, owner, Lease, maxTries, cancellationToken) is { } work
            ? new SliceClaim(work, owner, maxTries) : null;
    }

    internal SliceRun Start(SliceClaim claim, CancellationToken cancellationToken) =>
        new(claim, slices, new SliceStores(rows, tables, _shared), options.Value, ingest.Value.PlanLimit, time, cancellationToken);
}

internal sealed record SliceClaim(SliceWork Work, string Owner, int MaxTries);

internal sealed record SliceStores(JournaledRows Rows, IStoreTables Tables, SharedTransactions Shared);
