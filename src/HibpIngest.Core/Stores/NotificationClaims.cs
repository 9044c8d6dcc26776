using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <param name="Claimed">In order.</param>
/// <param name="OthersHeld">Another owner holds some of the rest.</param>
public sealed record NotificationClaims(IReadOnlyList<Notification> Claimed, bool OthersHeld)
{
    public static readonly NotificationClaims None = new([], false);

    /// <summary>The time reserved for the first begins in so long.</summary>
    public TimeSpan StartsIn { get; init; }

    /// <summary>None was claimed: the system's rate has no time free before so long; null: it had.</summary>
    public TimeSpan? NoneBefore { get; init; }

    /// <summary>There were more to claim than were asked for.</summary>
    public bool More { get; init; }
}
