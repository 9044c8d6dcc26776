namespace HibpIngest.Stores;

/// <summary>Signs of life of the processes that work on a store, so that an operator sees which there are, and which there were.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold. No database is asked: a serverless one can pause.</remarks>
public interface IHostSigns
{
    /// <summary>Records a sign of life; a later one of the same host replaces it.</summary>
    Task PutSignAsync(HostSign sign, CancellationToken cancellationToken);

    /// <summary>
    /// The same on the calling thread, which may be one of its own: no thread of the pool is needed as long as the connection lives.
    /// </summary>
    void PutSign(HostSign sign, CancellationToken cancellationToken);

    /// <summary>The last sign of each host that has not taken its leave.</summary>
    Task<IReadOnlyList<HostSign>> ListSignsAsync(CancellationToken cancellationToken);

    /// <summary>A host takes its leave, or nobody waits for its sign any more; it may be gone.</summary>
    Task RemoveSignAsync(string host, CancellationToken cancellationToken);
}
