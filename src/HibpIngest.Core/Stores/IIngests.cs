using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Who ingests a load, and the copying of its rows.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IIngests
{
    /// <summary>
    /// Takes the lease of a load that is in this state (ingesting or matching) and that nobody holds (or whose
    /// lease has expired, or that this owner holds), and counts the attempt, unless the owner has it already.
    /// </summary>
    Task<bool> TryTakeLoadAsync(long load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Extends the lease between two batches. False: it is lost.</summary>
    Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Gives the lease back, and the attempt with it: whoever can still give it back was not ended by the load.
    /// Nothing happens when the owner no longer has it.
    /// </summary>
    Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken);

    Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken);

    /// <summary>All rows are committed: state upserting, final counts, lease given back.</summary>
    /// <exception cref="Errors.LoadLostException">Another owner, or another state.</exception>
    Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken);
}
