namespace HibpIngest.Testing;

/// <summary>Database operations in one step where the port needs several.</summary>
internal static class DatabaseSteps
{
    private const string Worker = "worker";
    private static readonly TimeSpan WorkersLease = TimeSpan.FromMinutes(1);

    private static long _drawn;

    /// <summary>Draws a load's id as the register would: no test may rely on the first being 1.</summary>
    public static LoadId DrawId() => new(Interlocked.Increment(ref _drawn));

    /// <summary>Starts a load under a drawn id, with its metadata as a document, and reads it.</summary>
    public static async Task<Load> StartLoadAsync(
        this IBreachDatabase database, string breach, BreachMetadata metadata, BlobVersion blob, LoadSettings settings, string? failure,
        CancellationToken cancellationToken)
    {
        var order = new NewLoad(DrawId(), breach, blob, settings) { Metadata = metadata.ToJson(), Failure = failure };
        var started = await database.StartLoadAsync(order, cancellationToken);
        return (await database.GetLoadAsync(started.Id, cancellationToken))!;
    }

    public static Task<Load> RestartLoadAsync(
        this IBreachDatabase database, LoadId load, LoadSettings settings, CancellationToken cancellationToken) =>
        database.RestartLoadAsync(load, DrawId(), settings, cancellationToken);

    /// <summary>Fails a load regardless of its owner.</summary>
    public static Task FailLoadAsync(this IBreachDatabase database, LoadId load, string error, CancellationToken cancellationToken) =>
        database.FailLoadAsync(load, owner: null, error, superseded: false, cancellationToken);

    /// <summary>Removes a breach from the database; the loads' table entities stay.</summary>
    public static async Task RemoveBreachAsync(this IBreachDatabase database, string breach, CancellationToken cancellationToken)
    {
        foreach (var load in await database.BeginRemovalAsync(breach, cancellationToken))
            await database.FinishRemovalAsync(load.Load, cancellationToken);
    }

    /// <summary>Begins an attempt at a slice as the default worker.</summary>
    public static Task<SliceWork?> BeginSliceAsync(
        this IBreachDatabase database, LoadId load, int slice, int maxTries, CancellationToken cancellationToken) =>
        database.BeginSliceAsync(load, slice, Worker, WorkersLease, maxTries, cancellationToken);

    /// <summary>Completes a slice in the current layouts.</summary>
    /// <returns>False if another worker owns the slice, or it is done.</returns>
    public static async Task<bool> CompleteSliceAsync(
        this IBreachDatabase database, LoadId load, int slice, string owner, int entities, CancellationToken cancellationToken)
    {
        var layouts = await database.GetLayoutsAsync(cancellationToken);
        return (await database.CompleteSliceAsync(load, slice, owner, entities, layouts.Version, cancellationToken)).IsDone;
    }

    /// <summary>Completes a slice as the default worker, whether or not its attempt has begun.</summary>
    public static async Task CompleteSliceAsync(
        this IBreachDatabase database, LoadId load, int slice, int entities, CancellationToken cancellationToken)
    {
        await database.BeginSliceAsync(load, slice, maxTries: 0, cancellationToken);
        await database.CompleteSliceAsync(load, slice, Worker, entities, cancellationToken);
    }

    /// <summary>Fails a slice as the default worker, whether or not its attempt has begun.</summary>
    public static async Task FailSliceAsync(
        this IBreachDatabase database, LoadId load, int slice, string error, bool exhausted, CancellationToken cancellationToken)
    {
        await database.BeginSliceAsync(load, slice, maxTries: 0, cancellationToken);
        await database.FailSliceAsync(load, slice, Worker, error, exhausted, cancellationToken);
    }

    /// <summary>Returns the default worker's attempt.</summary>
    public static Task RefundSliceAttemptAsync(
        this IBreachDatabase database, LoadId load, int slice, string error, CancellationToken cancellationToken) =>
        database.RefundSliceAttemptAsync(load, slice, Worker, progress: null, error, cancellationToken);

    /// <summary>Copies one batch with its own bulk copy; the load's id is its mark.</summary>
    public static async Task<IReadOnlyList<Slice>> CommitBatchAsync(
        this IBreachDatabase database, LoadId load, string owner, AccountBatch batch, int sliceRows, LoadCheckpoint checkpoint,
        bool duplicatesPossible, TimeSpan lease,
        CancellationToken cancellationToken)
    {
        await using var copy = await database.OpenCopyAsync(
            new BatchCopyOrder(load, owner, (int)load.Value, sliceRows, lease), cancellationToken);
        return await copy.CommitAsync(batch, checkpoint, duplicatesPossible, cancellationToken);
    }

    /// <summary>Matches a range without a lease.</summary>
    public static Task<bool> MatchRowsAsync(this IBreachDatabase database, LoadId load, long after, long upTo,
        CancellationToken cancellationToken) =>
        database.MatchRowsAsync(load, after, upTo, TimeSpan.FromMinutes(2), cancellationToken);

    /// <summary>Runs all steps that end matching. <paramref name="suppress"/>: the metadata retires the breach.</summary>
    public static Task<LoadState?> FinishMatchingAsync(this IBreachDatabase database, LoadId load, bool hold, bool suppress,
        CancellationToken cancellationToken) =>
        database.FinishAllAsync(
            load,
            new MatchEnd(suppress ? new ReadOnlyMemory<byte>("""{"IsRetired":true}"""u8.ToArray()) : (ReadOnlyMemory<byte>?)null, hold),
            cancellationToken);

    /// <summary>Runs all steps that end matching.</summary>
    public static async Task<LoadState?> FinishAllAsync(this IBreachDatabase database, LoadId load, MatchEnd end,
        CancellationToken cancellationToken)
    {
        LoadState? state;
        do
            state = await database.FinishMatchingAsync(load, end, cancellationToken);
        while (state == LoadState.Matching);
        return state;
    }

    /// <summary>Claims notifications at a rate that never delays.</summary>
    public static Task<NotificationClaims> ClaimNotificationsAsync(
        this IBreachDatabase database, LoadId load, int first, int last, string owner, TimeSpan lease,
        CancellationToken cancellationToken) =>
        database.ClaimNotificationsAsync(load, first, last, new ClaimOrder(owner, lease, int.MaxValue, PerSecond: 1e9,
            MaxLeadTime: TimeSpan.FromHours(1)), cancellationToken);

    /// <summary>Takes a load in state ingesting.</summary>
    public static Task<bool> TryClaimLoadAsync(
        this IBreachDatabase database, LoadId load, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        database.TryClaimLoadAsync(load, LoadState.Ingesting, owner, lease, cancellationToken);
}
