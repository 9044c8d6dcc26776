namespace HibpIngest.Pipeline.Callbacks;

/// <summary>An estimate of the calls to one client because of a breach.</summary>
/// <param name="Calls">Number of calls; approximate unless <paramref name="IsExact"/>.</param>
/// <param name="IsExact">Whether every slice was looked through; false: extrapolated from some of them.</param>
/// <param name="CallTime">Approximate time for one call.</param>
public sealed record CallEstimate(CallbackClient Client, long Calls, bool IsExact, TimeSpan CallTime)
{
    /// <summary>Assumed time for one call to a client that has not been called yet.</summary>
    public static readonly TimeSpan UsualCallTime = TimeSpan.FromMilliseconds(100);

    /// <summary>Time for all calls at the client's cap, if it accepts each of them.</summary>
    public TimeSpan Duration => CallTime * Calls / Client.Cap;
}
