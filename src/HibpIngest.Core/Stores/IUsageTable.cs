namespace HibpIngest.Stores;

/// <summary>
/// How often what was asked: table <c>hibpusage</c>. A row counts the records of one hour, route, status and key that lie in one blob
/// of the access log, so that a blob that is counted twice replaces its rows by the same. Errors as for
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface IUsageTable
{
    const string Name = "hibpusage";

    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Writes the rows of one blob, in place of those that are there.</summary>
    /// <param name="rows">Each hour, route, status and key once.</param>
    /// <param name="cancellationToken">Stops it between two transactions.</param>
    Task WriteAsync(string blob, IReadOnlyList<UsageRow> rows, CancellationToken cancellationToken);

    /// <summary>The rows of all blobs; none where there is no table yet.</summary>
    IAsyncEnumerable<UsageRow> ReadAsync(DateTimeOffset from, DateTimeOffset to, CancellationToken cancellationToken);
}

/// <summary>Requests of one hour, route, status and key.</summary>
/// <param name="Hour">Its beginning, UTC.</param>
/// <param name="Key">First 16 hex digits of the key's SHA-256; empty: it came without one.</param>
public sealed record UsageRow(DateTimeOffset Hour, string Route, int Status, string Key)
{
    public long Requests { get; init; }

    /// <summary>Bytes of their bodies, as far as they are known.</summary>
    public long Bytes { get; init; }

    /// <summary>How long they took in all, in microseconds.</summary>
    public long Microseconds { get; init; }

    /// <summary>How long the longest took, in microseconds.</summary>
    public long LongestMicroseconds { get; init; }
}
