namespace HibpIngest.Stores;

/// <summary>
/// The encrypted content of each delivery: one blob <c>load/slice/client</c> each. Errors are those of
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICallbackBlobs
{
    const string Container = "callbacks";

    /// <summary>Creates the container if it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Writes the content of a delivery.</summary>
    /// <param name="replaces">Whether existing content is overwritten.</param>
    /// <returns>False if there was content and it was kept.</returns>
    Task<bool> WriteAsync(CallbackKey delivery, ReadOnlyMemory<byte> content, bool replaces, CancellationToken cancellationToken);

    /// <summary>Reads the content of a delivery.</summary>
    /// <returns>Null if there is none.</returns>
    Task<byte[]?> ReadAsync(CallbackKey delivery, CancellationToken cancellationToken);

    /// <summary>Deletes the content of a delivery, if it exists.</summary>
    Task DeleteAsync(CallbackKey delivery, CancellationToken cancellationToken);

    Task DeleteAsync(long load, CancellationToken cancellationToken);
}
