namespace HibpIngest.Stores;

/// <param name="Changed">Entities that a mark was taken off.</param>
/// <param name="Token">
/// Where the next page begins; null: this was the last. It may hold a key, which names a person: for the database only.
/// </param>
public sealed record MarkPage(int Changed, string? Token);
