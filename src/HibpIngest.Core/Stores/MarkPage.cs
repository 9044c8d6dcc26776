namespace HibpIngest.Stores;

/// <param name="Changed">Number of entities from which the mark was removed.</param>
/// <param name="Token">Where the next page begins; null: this was the last. It may hold a key, which identifies a person: store
/// it only in the database.</param>
public sealed record MarkPage(int Changed, string? Token);
