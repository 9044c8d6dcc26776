namespace HibpIngest.Stores;

/// <summary>
/// What each delivery is of, sealed: a blob <c>load/slice/client</c> each. Errors as for <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICallbackBlobs
{
    const string Container = "callbacks";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Writes one; false: there is one already, and it stays, but where it is to be replaced.</summary>
    Task<bool> WriteAsync(CallbackKey delivery, ReadOnlyMemory<byte> content, bool replaces, CancellationToken cancellationToken);

    /// <summary>Reads one; null: there is none.</summary>
    Task<byte[]?> ReadAsync(CallbackKey delivery, CancellationToken cancellationToken);

    /// <summary>Deletes one; it may be gone.</summary>
    Task DeleteAsync(CallbackKey delivery, CancellationToken cancellationToken);

    Task DeleteAsync(long load, CancellationToken cancellationToken);
}
