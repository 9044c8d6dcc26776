namespace HibpIngest.Stores;

/// <summary>Locks between processes, that expire.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface INamedLocks
{
    /// <summary>
    /// Takes a named lock until it is released or expires; false when another owner has it. The same owner may
    /// take it again.
    /// </summary>
    Task<bool> TryLockAsync(string name, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Gives a lock back; nothing happens when the owner no longer has it.</summary>
    Task UnlockAsync(string name, string owner, CancellationToken cancellationToken);
}
