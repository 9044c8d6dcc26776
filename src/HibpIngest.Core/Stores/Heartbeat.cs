namespace HibpIngest.Stores;

/// <summary>A heartbeat of a process that works on a store.</summary>
/// <param name="Host">Random id of the process; the owner names of its leases start with it.</param>
/// <param name="Roles">Its roles, separated by commas.</param>
/// <param name="StartedAt">Start of the process, by its clock.</param>
/// <param name="SeenAt">Time of the heartbeat, by the process's clock.</param>
/// <param name="Troubles">Work that waits for an unavailable store, as far as the process knows.</param>
public sealed record Heartbeat(
    string Host, string Machine, int ProcessId, string Roles, string Version, DateTimeOffset StartedAt, DateTimeOffset SeenAt,
    IReadOnlyList<BlockedTask> Troubles)
{
    public const string Everything = "everything";

    public static readonly TimeSpan Every = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Age after which a heartbeat is missed: several were missed, while some leases of the host may still be live. The host has stopped,
    /// or can't reach the store.
    /// </summary>
    public static readonly TimeSpan MissedAfter = TimeSpan.FromSeconds(20);

    /// <summary>How long a missed heartbeat is reported.</summary>
    public static readonly TimeSpan ForgottenAfter = TimeSpan.FromDays(1);

    /// <summary>When the request that read the heartbeat was sent, by the reader's clock. Null: it was not read from a store.</summary>
    public DateTimeOffset? AskedAt { get; init; }

    /// <summary>Duration of that request. Writing a heartbeat takes about as long, because it goes to the same store.</summary>
    public TimeSpan AnsweredAfter { get; init; }

    /// <summary>
    /// Returns whether the heartbeat is missed: older than <see cref="MissedAfter"/>. The store's latency is discounted for the heartbeat,
    /// for the one before it, and for reading them, because a slow store says nothing about the host.
    /// </summary>
    public bool IsMissed(DateTimeOffset now) => (AskedAt ?? now) - SeenAt > MissedAfter + 2 * AnsweredAfter;

    /// <summary>Returns whether the process has a role named in <see cref="Roles"/>.</summary>
    public bool Does(string role) => Roles == Everything || Roles.Split(", ").Contains(role);
}

/// <summary>Work that a host could not do.</summary>
/// <param name="Load">The load that waits; 0: unknown.</param>
/// <param name="What">A queue, or a background task of the host.</param>
/// <param name="NextTry">Time of the next attempt.</param>
public sealed record BlockedTask(long Load, string What, string Reason, DateTimeOffset NextTry);
