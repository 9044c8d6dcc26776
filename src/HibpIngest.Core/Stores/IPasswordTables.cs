namespace HibpIngest.Stores;

/// <summary>
/// Tables of Pwned Passwords, one a release and mode: PartitionKey is a hash's prefix, RowKey the rest of it, property
/// <c>count</c> how often it was seen. Errors as for <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordTables
{
    /// <summary>Creates a table where it is missing; false: it is there already.</summary>
    Task<bool> CreateAsync(string table, CancellationToken cancellationToken);

    /// <summary>All rows of a prefix, by suffix; none where there are none, or no table.</summary>
    Task<IReadOnlyList<PasswordRow>> ReadAsync(string table, string prefix, CancellationToken cancellationToken);

    /// <summary>Writes rows of a prefix, whatever is there of them.</summary>
    Task WriteAsync(string table, string prefix, IReadOnlyList<PasswordRow> rows, CancellationToken cancellationToken);

    /// <summary>Deletes a table with all that is in it, if there is one.</summary>
    Task DropAsync(string table, CancellationToken cancellationToken);
}

/// <param name="Suffix">The hash behind its prefix, in upper-case hex digits.</param>
public readonly record struct PasswordRow(string Suffix, long Count);
