namespace HibpIngest.Stores;

/// <summary>
/// Suppressions outside of the database, which may be restored from a backup that lacks them. Append-only: the last entry of a hash is
/// effective.
/// </summary>
public interface ISuppressionLog
{
    /// <summary>See <see cref="ISubscribers.GetSuppressionKeyCheckAsync"/>.</summary>
    Task<string?> GetSuppressionKeyCheckAsync(CancellationToken cancellationToken);

    /// <summary>Records the check unless there is one; returns the effective one.</summary>
    Task<string> AddSuppressionKeyCheckAsync(string check, CancellationToken cancellationToken);

    /// <summary>Appends a suppression, or the lifting of one; does nothing if that is recorded already.</summary>
    Task AppendSuppressionAsync(Suppression suppression, bool lifted, CancellationToken cancellationToken);
    Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken);

    /// <summary>Returns the hashes of the lifted suppressions.</summary>
    Task<IReadOnlyList<string>> ListLiftedAsync(CancellationToken cancellationToken);
}
