namespace HibpIngest.Stores;

/// <summary>A heartbeat of a process that works on a store.</summary>
/// <param name="Host">Random id of the process; the owners of its leases begin with it.</param>
/// <param name="Roles">Its roles, separated by ", ".</param>
/// <param name="StartedAt">Start of the process, by its clock.</param>
/// <param name="SeenAt">Time of the heartbeat, by the process's clock.</param>
/// <param name="Troubles">Work that waits for an unavailable store, as far as the process knows.</param>
public sealed record Heartbeat(
    string Host, string Machine, int ProcessId, string Roles, string Version, DateTimeOffset StartedAt, DateTimeOffset SeenAt,
    IReadOnlyList<BlockedTask> Troubles)
{
    public const string Everything = "everything";

    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Age after which a host counts as stopped or unable to reach the store: four heartbeats. It is shorter than a lease, so leases of the
    /// host may still be live.
    /// </summary>
    public static readonly TimeSpan MissedAfter = TimeSpan.FromSeconds(20);

    /// <summary>Age after which a missed heartbeat is deleted; until then it is reported.</summary>
    public static readonly TimeSpan DeletedAfter = TimeSpan.FromDays(1);

    /// <summary>Time at which the request that read this heartbeat was sent, by the reader's clock; null if it wasn't read.</summary>
    public DateTimeOffset? RequestedAt { get; init; }

    /// <summary>Latency of that request. Writing a heartbeat takes about as long, because it goes to the same store.</summary>
    public TimeSpan ReadLatency { get; init; }

    /// <summary>
    /// Returns whether the heartbeat is missed: older than <see cref="MissedAfter"/>. The store's latency is discounted for the heartbeat,
    /// for the one before it, and for reading them, because a slow store says nothing about the host.
    /// </summary>
    public bool IsMissed(DateTimeOffset now) => (RequestedAt ?? now) - SeenAt > MissedAfter + 2 * ReadLatency;

    /// <summary>Returns whether the process has a role named in <see cref="Roles"/>.</summary>
    public bool HasRole(string role) => Roles == Everything || Roles.Split(", ").Contains(role);
}

/// <summary>Work of a host that waits for an unavailable store.</summary>
/// <param name="Load">The load that waits; 0 if unknown.</param>
/// <param name="What">A queue, or a background task of the host.</param>
/// <param name="NextTry">Time of the next attempt.</param>
public sealed record BlockedTask(long Load, string What, string Reason, DateTimeOffset NextTry);
