using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>
/// Suppressions outside of the database, which may be put back to a backup that doesn't have them yet. Appended to, never
/// changed: what counts of a hash is its last entry.
/// </summary>
public interface ISuppressionLog
{
    /// <summary>As <see cref="ISuppressions.GetSuppressionCheckAsync"/>.</summary>
    Task<string?> GetSuppressionCheckAsync(CancellationToken cancellationToken);

    /// <summary>Records it unless there is one; returns the one that counts.</summary>
    Task<string> AddSuppressionCheckAsync(string check, CancellationToken cancellationToken);

    /// <summary>Appends a suppression, or that it no longer counts; nothing where that is known.</summary>
    Task AppendSuppressionAsync(Suppression suppression, bool lifted, CancellationToken cancellationToken);

    Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken);

    /// <summary>The hashes of those that no longer count.</summary>
    Task<IReadOnlyList<string>> ListLiftedAsync(CancellationToken cancellationToken);
}
