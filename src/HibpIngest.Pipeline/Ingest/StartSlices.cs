namespace HibpIngest.Pipeline.Ingest;

/// <summary>Starts the upserts of a load that is being copied.</summary>
public sealed class StartSlices(IStoreRegister register, PipelineMessages messages, UpsertCompletion upsert)
{
    /// <summary>Returns the load with its mark, which is drawn if it has none.</summary>
    public async Task<Load> WithMarkAsync(Load load, CancellationToken cancellationToken) =>
        load.Mark > 0 ? load : load with { Mark = await register.DrawMarkAsync(cancellationToken) };

    /// <summary>Confirms the load's ids, before anything writes the mark into a table.</summary>
    public Task ConfirmAsync(Load load) => register.ConfirmAsync(new StoreIds(load.Id.Value, load.Mark), CancellationToken.None);

    public Task SendAsync(IReadOnlyList<Slice> slices) => messages.SendSlicesAsync(slices, CancellationToken.None);

    /// <summary>Moves the load on if all its slices are done: the last one may have been before the copy ended.</summary>
    public Task CompleteAsync(Load load) => upsert.TryAsync(load.Id, CancellationToken.None);
}
