namespace HibpIngest.Pipeline.Callbacks;

public sealed class CallbackRun : IStageWork
{
    internal CallbackRun(
        CallbackClient client, string owner, CallLease lease, CallPace pace, IReadOnlyList<CallbackDelivery> due) =>
        (Client, Owner, Lease, Pace, Due) = (client, owner, lease, pace, due);

    public CallbackClient Client { get; }

    public string Owner { get; }

    /// <summary>Deliveries that were due when the turn began; at least one.</summary>
    public IReadOnlyList<CallbackDelivery> Due { get; }

    public LoadId LoadId => Due[0].Key.Load;

    public string Breach => Due[0].Breach;

    public bool IsLost => Lease.IsLost;

    internal CallLease Lease { get; }

    internal CallPace Pace { get; }
}

/// <summary>
/// This process' lease on a client, measured on the monotonic clock. No call that could outlast it is started, so the calls in flight from
/// all processes together never exceed the client's cap, even if a process stalls.
/// </summary>
internal sealed class CallLease(TimeProvider time)
{
    /// <summary>Long enough for a call and a short database outage.</summary>
    public static readonly TimeSpan Duration = TimeSpan.FromSeconds(30);

    private long _since = time.GetTimestamp();

    public bool IsLost { get; set; }

    public bool CoversCall => !IsLost && Age < Duration - CallbackClient.CallTimeout;

    public TimeSpan Age => time.GetElapsedTime(Volatile.Read(ref _since));

    /// <summary>Counts the lease from <paramref name="since"/>, the timestamp at which the renewing statement was started.</summary>
    public void Prolong(long since) => Volatile.Write(ref _since, since);
}
