namespace HibpIngest.Stores;

/// <summary>Recovers loads from the account log into a database that was restored from a backup, or is empty.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface ILoadRecovery
{
    /// <summary>
    /// Recovers a load that is unknown or unpublished here: it becomes done, with its mark, slices and segments, but without
    /// rows, and notifies nobody. The breach's data is updated if the log is newer. For a load that is published here, only the
    /// breach's data, a replacement, or an assignment to another breach is taken over. Idempotent.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">Its id, its mark or its blob version belongs to another load here; nothing
    /// was changed.</exception>
    Task<RecoveryStep> RecoverLoadAsync(LoadRecovery load, CancellationToken cancellationToken);

    /// <summary>Records that a published load was replaced by another one: its mark no longer counts.</summary>
    /// <returns>False if there is no such load, or it isn't published.</returns>
    Task<bool> SetReplacedAsync(long load, long by, CancellationToken cancellationToken);
}
