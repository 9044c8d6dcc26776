namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>
/// Options of the SQL Server provider. Settings that depend on the server are in the connection string, in the driver's syntax: <c>Command
/// Timeout</c> (30 s, for each statement and each copy of a batch), <c>Packet Size</c> (8000), <c>Connect Timeout</c>, <c>Max Pool
/// Size</c>; HIBP_BATCHROWS sets the rows of a batch, which is one transaction.
/// </summary>
public sealed class SqlServerOptions
{
    /// <summary>
    /// Rows below which a copy that times out is not halved any further: a database that can't accept 1,000 rows within the timeout is not
    /// slow, but stuck.
    /// </summary>
    public const int SmallestCopyRows = 1_000;

    /// <summary>
    /// Rows of one WriteToServer. A batch is sent in one call unless it times out: splitting it adds round trips and gains nothing, because
    /// it is one transaction in any case.
    /// </summary>
    public int CopyRows { get; init; } = int.MaxValue;

    /// <summary>
    /// Timeout of one WriteToServer; zero: the connection string's Command Timeout, whose default of 30 seconds is also SqlBulkCopy's. The
    /// published system used that value: <see cref="LoadSettings.DefaultBatchRows"/> rows passed and 25,000 timed out.
    /// </summary>
    public TimeSpan CopyTimeout { get; init; } = TimeSpan.Zero;

    /// <summary>Called with the number of rows before each WriteToServer; lets a test fail the copy.</summary>
    internal Action<int>? BeforeCopy { get; init; }

    /// <summary>
    /// Timeout of a statement over many rows (a range of a match, exact counts, a chunk of a purge, a schema script): enough to sort 100
    /// million rows on a small tier, and far less than a day if a statement hangs.
    /// </summary>
    public TimeSpan LongTimeout { get; init; } = TimeSpan.FromMinutes(30);

    /// <summary>
    /// No attempt begins later than this after the first. A failover or scaling of Azure SQL takes seconds to half a minute; for longer
    /// outages the message is deferred, which holds no worker.
    /// </summary>
    public TimeSpan RetryFor { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The delay before the second attempt; it doubles, with jitter, up to <see cref="LongestRetryDelay"/>.</summary>
    public TimeSpan RetryDelay { get; init; } = TimeSpan.FromMilliseconds(250);

    /// <summary>The longest delay between two attempts, so that a server that has recovered is used soon.</summary>
    public TimeSpan LongestRetryDelay { get; init; } = TimeSpan.FromSeconds(5);
}
