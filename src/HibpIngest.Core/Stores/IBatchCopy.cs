using HibpIngest.Accounts;
using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>The copy of one load into SQL by one owner. Holds its resources (a connection) until it is disposed.</summary>
public interface IBatchCopy : IAsyncDisposable
{
    /// <summary>
    /// Writes rows, checkpoint, renewed lease and pending slice rows in one transaction that begins with <c>UPDATE loads SET
    /// last_position = @to WHERE id = @load AND last_position = @from AND owner = @me</c> (and the state ingesting). The
    /// batch's <see cref="AccountBatch.FirstPosition"/> must be last_position + 1. The first batch assigns the load's mark. The
    /// lease runs from the end of the transaction, and the load's attempts are reset to 0. After cancellation, either
    /// everything or nothing is written.
    /// </summary>
    /// <returns>The slices of the batch, in order.</returns>
    /// <exception cref="Errors.LoadLostException">No row changed: another owner, or another state.</exception>
    Task<IReadOnlyList<Slice>> CommitAsync(
        AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken);
}

/// <param name="Mark">The mark drawn for the load; ignored if the load has one.</param>
/// <param name="SliceRows">Maximum number of rows of a slice.</param>
/// <param name="Lease">Lease duration from each commit on.</param>
public sealed record BatchCopyOrder(long Load, string Owner, int Mark, int SliceRows, TimeSpan Lease);
