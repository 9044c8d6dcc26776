using HibpIngest.Breaches;

namespace HibpIngest.Pipeline;

/// <summary>What an operator can ask of the pipeline; the same for every tool.</summary>
public sealed class Operations(PipelineContext context)
{
    /// <summary>Sends slices of a breach again: one of its newest load, the failed ones, or all, of every load that isn't purged. Returns how many.</summary>
    public Task<int> RequeueSlicesAsync(string breach, int? slice, bool failedOnly, CancellationToken cancellationToken) => throw new NotImplementedException(context.Owner);

    /// <summary>Carries on with a failed load; with <paramref name="restart"/> as a new load with today's settings. Returns the load that goes on.</summary>
    public Task<Load> ResumeAsync(long load, bool restart, string? password, CancellationToken cancellationToken) => throw new NotImplementedException();

    /// <summary>Releases the held loads of a breach. Returns their notifications' number.</summary>
    public Task<int> NotifyAsync(string breach, CancellationToken cancellationToken) => throw new NotImplementedException();

    /// <summary>Who would get what, of the held loads of a breach.</summary>
    public IAsyncEnumerable<Notification> PreviewAsync(string breach, CancellationToken cancellationToken) => throw new NotImplementedException();

    /// <summary>Takes a breach off every account in the table, then out of the database.</summary>
    public Task<long> RemoveBreachAsync(string breach, IProgress<long>? progress, CancellationToken cancellationToken) => throw new NotImplementedException();

    /// <summary>Takes the rows of a finished load away, in chunks. Returns how many.</summary>
    public Task<long> PurgeAsync(long load, IProgress<long>? progress, CancellationToken cancellationToken) => throw new NotImplementedException();

    /// <summary>Sends up to all messages of a poison queue to its queue again. Returns how many.</summary>
    public Task<int> RequeuePoisonAsync(string queue, CancellationToken cancellationToken) => throw new NotImplementedException();
}
