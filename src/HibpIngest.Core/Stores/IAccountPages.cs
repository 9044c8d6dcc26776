namespace HibpIngest.Stores;

/// <summary>Scans the whole account table.</summary>
public interface IAccountPages
{
    /// <summary>
    /// Returns the next page of one of the table's <see cref="IAccountTable.Parts"/>. The service decides its size, which may
    /// be 0.
    /// </summary>
    /// <param name="part">0 and up; parts may be scanned concurrently.</param>
    /// <param name="token">From the previous page; null: from the start.</param>
    Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken);
}

/// <param name="Rows">Each with its partition; the key is the alias.</param>
/// <param name="Token">Where the next page begins; null: this was the last. It holds a key, which identifies a person: store it
/// only in the database.</param>
public sealed record AccountPage(IReadOnlyList<(string Partition, MarkedRow Row)> Rows, string? Token);
