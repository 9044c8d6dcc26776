namespace HibpIngest.Stores;

/// <summary>
/// Flags a possibly stale catalogue, without access to the database or the catalogue. Each writer sets its own mark before it
/// changes what readers see, or writes the catalogue, and clears only that mark, so that one writer's completion does not hide
/// another's pending change.
/// </summary>
public interface ICatalogueMarks
{
    /// <summary>Sets a new mark and returns its name.</summary>
    Task<string> MarkBehindAsync(DateTimeOffset now, CancellationToken cancellationToken);

    /// <summary>Returns all marks, the oldest first.</summary>
    Task<IReadOnlyList<(string Mark, DateTimeOffset SetAt)>> ListBehindAsync(CancellationToken cancellationToken);

    /// <summary>Clears a mark. Idempotent.</summary>
    Task ClearBehindAsync(string mark, CancellationToken cancellationToken);
}
