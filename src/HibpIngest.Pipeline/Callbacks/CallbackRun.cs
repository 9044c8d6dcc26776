namespace HibpIngest.Pipeline.Callbacks;

/// <summary>One turn of calling a client, under the client's lease.</summary>
public sealed class CallbackRun : IStageWork
{
    internal CallbackRun(
        CallbackClient client, string owner, CallLease lease, CallPace pace, IReadOnlyList<CallbackDelivery> due) =>
        (Client, Owner, Lease, Pace, Due) = (client, owner, lease, pace, due);

    /// <summary>The client as it was when the turn began.</summary>
    public CallbackClient Client { get; }

    /// <summary>Lease owner; unique to this run.</summary>
    public string Owner { get; }

    /// <summary>Deliveries that were due when the turn began; at least one.</summary>
    public IReadOnlyList<CallbackDelivery> Due { get; }

    public long LoadId => Due[0].Key.Load;

    public string Breach => Due[0].Breach;

    /// <inheritdoc/>
    /// <remarks>Not counted: each delivery counts its own.</remarks>
    public int Attempts => 0;

    public bool IsLost => Lease.IsLost;

    internal CallLease Lease { get; }

    internal CallPace Pace { get; }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
