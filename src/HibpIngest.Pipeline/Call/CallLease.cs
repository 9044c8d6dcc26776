using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// How long a client is this process' alone, by a clock that nobody sets. No call is begun that could outlast it: of all processes together
/// no more are in flight to a client than its cap, whatever becomes of one of them.
/// </summary>
internal sealed class CallLease(TimeProvider time)
{
    /// <summary>Long enough for a call, and for a moment without the database.</summary>
    public static readonly TimeSpan Duration = TimeSpan.FromSeconds(30);

    private long _since = time.GetTimestamp();

    /// <summary>It is somebody else's by now.</summary>
    public bool IsLost { get; set; }

    /// <summary>A call may be begun.</summary>
    public bool CoversCall => !IsLost && Age < Duration - CallbackClient.CallTimeout;

    /// <summary>How long ago it was last prolonged.</summary>
    public TimeSpan Age => time.GetElapsedTime(Volatile.Read(ref _since));

    /// <summary>It was prolonged by a call that was begun then (a timestamp).</summary>
    public void Prolong(long since) => Volatile.Write(ref _since, since);
}
