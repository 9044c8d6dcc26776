using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>A client that this process calls, alone, under its lease.</summary>
public sealed class CallbackRun : IStageWork
{
    internal CallbackRun(
        CallbackClient client, string owner, CallLease lease, CallPace pace, IReadOnlyList<CallbackDelivery> due) =>
        (Client, Owner, Lease, Pace, Due) = (client, owner, lease, pace, due);

    /// <summary>The client, as it was when its turn began.</summary>
    public CallbackClient Client { get; }

    /// <summary>Who holds it: this run, and nobody else.</summary>
    public string Owner { get; }

    /// <summary>What was due when its turn began; at least one.</summary>
    public IReadOnlyList<CallbackDelivery> Due { get; }

    public long LoadId => Due[0].Key.Load;

    public string Breach => Due[0].Breach;

    /// <inheritdoc/>
    /// <remarks>They don't count: each call has its own.</remarks>
    public int Attempts => 0;

    public bool IsLost => Lease.IsLost;

    internal CallLease Lease { get; }

    internal CallPace Pace { get; }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
