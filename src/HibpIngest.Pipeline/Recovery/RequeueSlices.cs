namespace HibpIngest.Pipeline.Recovery;

public sealed class RequeueSlices(IBreachDatabase database, BreachLoads breachLoads, IWorkRegister register, PipelineMessages messages)
{
    /// <summary>Sends slices again: one of the newest load, or all or failed ones of all loads with rows. Returns their number.</summary>
    /// <exception cref="NotPossibleException">There is no such breach or slice, or its rows are purged.</exception>
    public async Task<int> RunAsync(string breach, int? slice, bool failedOnly, CancellationToken cancellationToken)
    {
        var found = await breachLoads.ListAsync(breach, cancellationToken);
        var chosen = slice is null ? [.. found.Where(IsRequeued)] : (IReadOnlyList<Load>)[found[^1]];
        if (chosen.Count == 0)
        {
            throw new NotPossibleException(
                $"the rows of all loads of {breach} are purged, and none is in the journal: drop the archive again");
        }
        var sent = 0;
        foreach (var load in chosen)
        {
            // Marked before and after: after a crash in between, Sweep follows the mark.
            await register.MarkOpenAsync(load.Id, cancellationToken);
            var requeued = await database.RequeueSlicesAsync(load.Id, slice, failedOnly, cancellationToken);
            if (requeued.Count == 0)
                continue;
            if (load.State == LoadState.Failed && (await database.GetLoadAsync(load.Id, CancellationToken.None))?.Slices.Failed > 0)
            {
                // Other failed slices still have to be requeued.
                await database.FailLoadAsync(
                    load.Id, owner: null, load.Error ?? "another slice has failed", superseded: false, CancellationToken.None);
            }
            await register.MarkOpenAsync(load.Id, cancellationToken);
            await messages.SendSlicesAsync(requeued, cancellationToken);
            sent += requeued.Count;
        }
        return sent;
    }

    private static bool IsRequeued(Load load) => !load.Purged
        || (load.JournaledVersion is not null && load.State is LoadState.Done or LoadState.Upserting or LoadState.Failed);
}
