using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What calling a client of a breach would be.</summary>
/// <param name="Calls">How many calls, as many as <paramref name="IsExact"/> says or about so many.</param>
/// <param name="IsExact">Every slice was looked through; false: some were, and the others are taken to be like them.</param>
/// <param name="CallTime">How long a call takes, about.</param>
public sealed record CallEstimate(CallbackClient Client, long Calls, bool IsExact, TimeSpan CallTime)
{
    /// <summary>What a call is taken to take that nobody has made yet.</summary>
    public static readonly TimeSpan UsualCallTime = TimeSpan.FromMilliseconds(100);

    /// <summary>How long it takes with the client's cap, where it accepts every call.</summary>
    public TimeSpan Duration => CallTime * Calls / Client.Cap;
}
