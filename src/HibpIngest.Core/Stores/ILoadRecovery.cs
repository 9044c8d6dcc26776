namespace HibpIngest.Stores;

/// <summary>What the account log tells is known again to a database that was restored from a backup, or is empty.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ILoadRecovery
{
    /// <summary>
    /// A load that is unknown, or not published here, becomes done, with its mark, slices and segments, without rows, and
    /// tells nobody; what is told of its breach is taken on where it is newer than what is known. Of a load that is
    /// published here only the latter, and that it was replaced, or given to another breach, since. Idempotent.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">
    /// Its number, its mark or its archive's version is another load's here: nothing was changed.
    /// </exception>
    Task<RecoveryStep> RecoverLoadAsync(LoadRecovery load, CancellationToken cancellationToken);

    /// <summary>A load that counts here was replaced by another since: it counts no more.</summary>
    /// <returns>False: there is no such load, or it doesn't count.</returns>
    Task<bool> SetReplacedAsync(long load, long by, CancellationToken cancellationToken);
}
