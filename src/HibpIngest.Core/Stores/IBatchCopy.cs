using HibpIngest.Accounts;
using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>
/// The copy of one load into SQL by one owner; holds whatever it needs for that (a connection) until it is
/// disposed.
/// </summary>
public interface IBatchCopy : IAsyncDisposable
{
    /// <summary>
    /// Rows, checkpoint, renewed lease and slice rows (pending) in one transaction that begins with <c>UPDATE
    /// loads SET last_position = @to WHERE id = @load AND last_position = @from AND owner = @me</c> (and the
    /// state ingesting). The batch's <see cref="AccountBatch.FirstPosition"/> is last_position + 1. The first
    /// batch gives the load its mark. The lease runs from the transaction's end. The load's attempts are 0
    /// again. Cancellation leaves all or nothing.
    /// </summary>
    /// <returns>The slices it made, in order.</returns>
    /// <exception cref="Errors.LoadLostException">No row changed: another owner, or another state.</exception>
    Task<IReadOnlyList<Slice>> CommitAsync(
        AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken);
}

/// <param name="Mark">The load's mark, as drawn; one that it has already stays.</param>
/// <param name="SliceRows">Most rows of a slice.</param>
/// <param name="Lease">How long the load stays the owner's from each commit on.</param>
public sealed record BatchCopyOrder(long Load, string Owner, int Mark, int SliceRows, TimeSpan Lease);
