namespace HibpIngest.Stores;

/// <summary>A walk over the whole account table.</summary>
public interface IAccountPages
{
    /// <summary>
    /// The next rows of one of the table's <see cref="IAccountTable.Parts"/>: one page, of as many as the service
    /// gives at once, which may be none.
    /// </summary>
    /// <param name="part">0 and up; parts may be walked at once.</param>
    /// <param name="token">From the page before; null: from the start.</param>
    Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken);
}

/// <param name="Rows">Each with its partition; the key is the alias.</param>
/// <param name="Token">
/// Where the next page begins; null: this was the last. It holds a key, which names a person: for the database only.
/// </param>
public sealed record AccountPage(IReadOnlyList<(string Partition, MarkedRow Row)> Rows, string? Token);
