using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <param name="Claimed">In order.</param>
/// <param name="OthersHeld">Another owner holds some of the others.</param>
public sealed record NotificationClaims(IReadOnlyList<Notification> Claimed, bool OthersHeld)
{
    public static readonly NotificationClaims None = new([], false);

    /// <summary>Delay until the time reserved for the first mail.</summary>
    public TimeSpan StartsIn { get; init; }

    /// <summary>Delay until the system's rate has free time: nothing was claimed. Null: time was available.</summary>
    public TimeSpan? NoneBefore { get; init; }

    /// <summary>There are more to claim than the maximum.</summary>
    public bool More { get; init; }
}
