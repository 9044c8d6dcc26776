namespace HibpIngest.Stores;

/// <summary>
/// The container that files of password hashes are dropped into, by whatever tool: they are read in ranges, and deleted once they
/// are imported. Errors as for <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordDrops
{
    const string Container = "passwords-import";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>All files, by name, page by page.</summary>
    IAsyncEnumerable<DroppedPasswords> ListAsync(CancellationToken cancellationToken);

    /// <summary>The present version of a file; null where there is none.</summary>
    Task<DroppedPasswords?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>Part of a file; null where it is gone, or is no longer this version (If-Match).</summary>
    /// <param name="length">How many; the file has them all.</param>
    Task<ReadOnlyMemory<byte>?> ReadAsync(DroppedPasswords file, long offset, int length, CancellationToken cancellationToken);

    /// <summary>Deletes a file that is still this version; nothing happens where it is another one, or gone.</summary>
    Task DeleteAsync(DroppedPasswords file, CancellationToken cancellationToken);
}

/// <param name="Name">Within the container, folders included.</param>
/// <param name="ETag">Names this version of it.</param>
public sealed record DroppedPasswords(string Name, string ETag, long Length, DateTimeOffset LastModified);
