namespace HibpIngest.Stores;

/// <summary>
/// Tables of Pwned Passwords, one per release and mode: PartitionKey is a hash's prefix, RowKey its suffix, property <c>count</c> how often
/// it was seen. Errors are those of <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordTables
{
    /// <returns>False if it exists.</returns>
    Task<bool> CreateAsync(string table, CancellationToken cancellationToken);

    /// <summary>Returns all rows of a prefix by suffix; none if there are no rows, or no table.</summary>
    Task<IReadOnlyList<PasswordRow>> ReadAsync(string table, string prefix, CancellationToken cancellationToken);

    /// <summary>Writes rows of a prefix, replacing existing ones.</summary>
    Task WriteAsync(string table, string prefix, IReadOnlyList<PasswordRow> rows, CancellationToken cancellationToken);
    Task DropAsync(string table, CancellationToken cancellationToken);
}

/// <param name="Suffix">The hash without its prefix, in upper-case hex digits.</param>
public readonly record struct PasswordRow(string Suffix, long Count);
