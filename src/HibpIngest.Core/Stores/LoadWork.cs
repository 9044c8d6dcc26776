namespace HibpIngest.Stores;

/// <summary>When a load was worked on, as recorded in the database.</summary>
/// <param name="Slices">In order.</param>
/// <param name="FirstMailAt">When its first notification was sent or refused; null: none was.</param>
/// <param name="LastMailAt">When its last notification was sent or refused.</param>
public sealed record LoadWork(long Load, IReadOnlyList<SliceTimes> Slices, DateTimeOffset? FirstMailAt, DateTimeOffset? LastMailAt);

/// <summary>When a slice was worked on.</summary>
/// <param name="CommittedAt">When its rows were committed, or when it was last requeued.</param>
/// <param name="BegunAt">Start of the attempt that completed it, or of the current attempt while its lease is live; null: no
/// attempt is running, or the start is unknown.</param>
/// <param name="DoneAt">When it was completed; null: it is open.</param>
/// <param name="Part">Fraction of its transactions that are done, 0 to 1, as last recorded by the lease owner; open slices only.</param>
public readonly record struct SliceTimes(DateTimeOffset CommittedAt, DateTimeOffset? BegunAt, DateTimeOffset? DoneAt, double Part = 0);
