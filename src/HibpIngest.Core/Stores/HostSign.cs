namespace HibpIngest.Stores;

/// <summary>A heartbeat of a process that works on a store.</summary>
/// <param name="Host">Drawn by each process; what it holds is held under names that begin with it.</param>
/// <param name="Roles">What it does, with commas between.</param>
/// <param name="StartedAt">When it began, by its clock.</param>
/// <param name="SeenAt">When it gave the sign, by its clock.</param>
/// <param name="Troubles">What waits for something that is down, as far as this process knows.</param>
public sealed record HostSign(
    string Host, string Machine, int ProcessId, string Roles, string Version, DateTimeOffset StartedAt, DateTimeOffset SeenAt,
    IReadOnlyList<HostTrouble> Troubles)
{
    /// <summary>All that a host can do for the pipeline.</summary>
    public const string Everything = "everything";

    /// <summary>How often a process gives one.</summary>
    public static readonly TimeSpan Every = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Some are missing, and the leases of what it held have not all ended: whoever gives none for longer doesn't work any more, or can't
    /// reach the store.
    /// </summary>
    public static readonly TimeSpan MissedAfter = TimeSpan.FromSeconds(20);

    /// <summary>So long it is told that one gives no sign.</summary>
    public static readonly TimeSpan ForgottenAfter = TimeSpan.FromDays(1);

    /// <summary>When a request asked for it, by the reader's clock; null: it was not read from a store.</summary>
    public DateTimeOffset? AskedAt { get; init; }

    /// <summary>How long that request took. Each heartbeat takes about as long, since it is written to the same store.</summary>
    public TimeSpan AnsweredAfter { get; init; }

    /// <summary>
    /// Whether the heartbeat is missed: older than <see cref="MissedAfter"/>. Time that the store took to answer doesn't count, be it for
    /// the heartbeat, for the one before it, or for reading them: a slow store says nothing of the host.
    /// </summary>
    public bool IsMissed(DateTimeOffset now) => (AskedAt ?? now) - SeenAt > MissedAfter + 2 * AnsweredAfter;

    /// <summary>Whether it does this, as <see cref="Roles"/> names it.</summary>
    public bool Does(string role) => Roles == Everything || Roles.Split(", ").Contains(role);
}

/// <summary>What a host was kept from doing.</summary>
/// <param name="Load">The load that waits; 0: none that is known.</param>
/// <param name="What">What it is: a queue, or work that a host does by itself.</param>
/// <param name="NextTry">When it is tried again.</param>
public sealed record HostTrouble(long Load, string What, string Reason, DateTimeOffset NextTry);
