namespace HibpIngest.Stores;

/// <summary>
/// Heartbeats of the processes that work on a store, so that an operator sees which processes run and which have stopped.
/// </summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply. No database is accessed: a serverless one can pause.</remarks>
public interface IHeartbeats
{
    /// <summary>
    /// Records a heartbeat, which replaces the host's previous one. Runs on the calling thread: needs no thread-pool thread while the
    /// connection is open.
    /// </summary>
    void PutHeartbeat(Heartbeat sign, CancellationToken cancellationToken);

    /// <summary>Returns the latest heartbeat of each host that has not signed off.</summary>
    Task<IReadOnlyList<Heartbeat>> ListHeartbeatsAsync(CancellationToken cancellationToken);

    /// <summary>Deletes a host's heartbeat, if it exists: the host signs off, or is no longer expected.</summary>
    Task RemoveHeartbeatAsync(string host, CancellationToken cancellationToken);
}
