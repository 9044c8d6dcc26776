namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// This process' lease on a client, measured on the monotonic clock. No call that could outlast it is started, so the calls in flight from
/// all processes together never exceed the client's cap, even if a process stalls.
/// </summary>
internal sealed class CallLease(TimeProvider time)
{
    /// <summary>Long enough for a call and a short database outage.</summary>
    public static readonly TimeSpan Duration = TimeSpan.FromSeconds(30);

    private long _since = time.GetTimestamp();

    /// <summary>Whether another process holds the client by now.</summary>
    public bool IsLost { get; set; }

    /// <summary>Whether a call started now would end before the lease does.</summary>
    public bool CoversCall => !IsLost && Age < Duration - CallbackClient.CallTimeout;

    /// <summary>Time since the last renewal.</summary>
    public TimeSpan Age => time.GetElapsedTime(Volatile.Read(ref _since));

    /// <summary>Counts the lease from <paramref name="since"/>, the timestamp at which the renewing statement was started.</summary>
    public void Prolong(long since) => Volatile.Write(ref _since, since);
}
