namespace HibpIngest.Stores;

/// <summary>
/// Request counts in table <c>hibpusage</c>. A row counts the records of one hour, route, status and key within one blob of the access log,
/// so that counting a blob twice writes the same rows again. Errors are those of <see cref="IBreachDatabase"/>.
/// </summary>
public interface IUsageTable
{
    const string Name = "hibpusage";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Writes the rows of one blob, replacing existing ones. Cancellation takes effect between two transactions.</summary>
    /// <param name="rows">Each hour, route, status and key once.</param>
    Task WriteAsync(string blob, IReadOnlyList<UsageRow> rows, CancellationToken cancellationToken);

    /// <summary>Returns the rows of all blobs; none if the table does not exist.</summary>
    IAsyncEnumerable<UsageRow> ReadAsync(DateTimeOffset from, DateTimeOffset to, CancellationToken cancellationToken);
}

/// <summary>Requests of one hour, route, status and key.</summary>
/// <param name="Hour">Start of the hour, UTC.</param>
/// <param name="Key">First 16 hex digits of the key's SHA-256; empty: requests without a key.</param>
public sealed record UsageRow(DateTimeOffset Hour, string Route, int Status, string Key)
{
    public long Requests { get; init; }

    /// <summary>Total size of the response bodies, as far as known.</summary>
    public long Bytes { get; init; }
    public long Microseconds { get; init; }
    public long LongestMicroseconds { get; init; }
}
