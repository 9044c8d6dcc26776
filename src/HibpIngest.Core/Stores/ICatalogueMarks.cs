namespace HibpIngest.Stores;

/// <summary>
/// That the catalogue may be behind the database, without asking either. One mark for each writer: whoever is about
/// to change what readers see, or to write the catalogue, sets one of his own and clears that one alone, so that
/// nobody who is still writing is forgotten because another has finished.
/// </summary>
public interface ICatalogueMarks
{
    /// <summary>Sets a mark of one's own, and names it.</summary>
    Task<string> MarkBehindAsync(DateTimeOffset now, CancellationToken cancellationToken);

    /// <summary>The marks there are, the oldest first.</summary>
    Task<IReadOnlyList<(string Mark, DateTimeOffset SetAt)>> ListBehindAsync(CancellationToken cancellationToken);

    /// <summary>Takes a mark away; idempotent.</summary>
    Task ClearBehindAsync(string mark, CancellationToken cancellationToken);
}
