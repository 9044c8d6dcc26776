namespace HibpIngest.Stores;

/// <summary>
/// The container for files of password hashes, uploaded with any tool. They are read in ranges, and deleted after the import. Errors are
/// those of <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordDrops
{
    const string Container = "passwords-import";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Returns all files by name, page by page.</summary>
    IAsyncEnumerable<DroppedPasswords> ListAsync(CancellationToken cancellationToken);
    Task<DroppedPasswords?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>Reads part of a file.</summary>
    /// <param name="length">Number of bytes, all of which must exist.</param>
    /// <returns>Null if the file was deleted, or is no longer this version (If-Match).</returns>
    Task<ReadOnlyMemory<byte>?> ReadAsync(DroppedPasswords file, long offset, int length, CancellationToken cancellationToken);

    /// <summary>Deletes a file if it still is this version; otherwise does nothing.</summary>
    Task DeleteAsync(DroppedPasswords file, CancellationToken cancellationToken);
}

/// <param name="Name">Name in the container, including folders.</param>
/// <param name="ETag">Identifies this version of the file.</param>
public sealed record DroppedPasswords(string Name, string ETag, long Length, DateTimeOffset LastModified);
