namespace HibpIngest.Stores;

/// <summary>Work that somebody has taken on, and that nobody else takes until then.</summary>
/// <param name="Slice">Number of the slice; null: the load as a whole, its ingest or its matching.</param>
/// <param name="Owner">Who holds it: begins with <see cref="HostSign.Host"/>.</param>
/// <param name="Until">When it is free, should no sign of life come.</param>
public sealed record HeldWork(long Load, string Breach, int? Slice, string Owner, DateTimeOffset Until);
