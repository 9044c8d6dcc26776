namespace HibpIngest.Stores;

/// <summary>Named locks between processes, with an expiry.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface INamedLocks
{
    /// <summary>Acquires a named lock until it is released or expires. The same owner may acquire it again.</summary>
    /// <returns>False if another owner holds it.</returns>
    Task<bool> TryLockAsync(string name, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Releases a lock; does nothing if the owner no longer holds it.</summary>
    Task UnlockAsync(string name, string owner, CancellationToken cancellationToken);
}
