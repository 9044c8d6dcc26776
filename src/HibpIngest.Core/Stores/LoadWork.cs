namespace HibpIngest.Stores;

/// <summary>When a load was worked on, as far as its rows in the database tell.</summary>
/// <param name="Slices">Its slices, in order.</param>
/// <param name="FirstMailAt">When its first notification was sent or refused; null: none was.</param>
/// <param name="LastMailAt">When the last one was.</param>
public sealed record LoadWork(long Load, IReadOnlyList<SliceTimes> Slices, DateTimeOffset? FirstMailAt, DateTimeOffset? LastMailAt);

/// <summary>When a slice was worked on.</summary>
/// <param name="CommittedAt">When its rows were committed, or when it was last requeued.</param>
/// <param name="BegunAt">
/// When the try that completed it began, or, while its lease is alive, the current try; null: nobody works on it, or it is not known.
/// </param>
/// <param name="DoneAt">When it was completed; null: it is open.</param>
/// <param name="Part">Part of its transactions that are done, as its holder last recorded: 0 to 1; of an open slice alone.</param>
public readonly record struct SliceTimes(DateTimeOffset CommittedAt, DateTimeOffset? BegunAt, DateTimeOffset? DoneAt, double Part = 0);
