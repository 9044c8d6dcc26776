namespace HibpIngest.Stores;

/// <summary>
/// The encrypted content of each delivery: one blob <c>load/slice/client</c> each. Errors are those of <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICallbackBlobs
{
    const string Container = "callbacks";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <param name="replaces">True if existing content is overwritten.</param>
    /// <returns>False if there was content and it was kept.</returns>
    Task<bool> WriteAsync(CallbackKey delivery, ReadOnlyMemory<byte> content, bool replaces, CancellationToken cancellationToken);
    Task<byte[]?> ReadAsync(CallbackKey delivery, CancellationToken cancellationToken);
    Task DeleteAsync(CallbackKey delivery, CancellationToken cancellationToken);
    Task DeleteAsync(LoadId load, CancellationToken cancellationToken);
}
