namespace HibpIngest.Stores;

/// <summary>Work under a live lease.</summary>
/// <param name="Slice">Number of the slice; null: the load as a whole, its ingest or its matching.</param>
/// <param name="Owner">Owner of the lease; starts with <see cref="Heartbeat.Host"/>.</param>
/// <param name="Until">Expiry of the lease, unless it is renewed.</param>
public sealed record HeldWork(long Load, string Breach, int? Slice, string Owner, DateTimeOffset Until);
