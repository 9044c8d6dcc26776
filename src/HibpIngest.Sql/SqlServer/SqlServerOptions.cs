using HibpIngest.Breaches;

namespace HibpIngest.Sql.SqlServer;

/// <summary>
/// How the provider works with a server. An operator sets what depends on the server in the connection string,
/// in the driver's words: <c>Command Timeout</c> (30 s, for each statement and each copy of a batch), <c>Packet
/// Size</c> (8000), <c>Connect Timeout</c>, <c>Max Pool Size</c>; and the rows of a batch, which are one
/// transaction, by HIBP_BATCHROWS.
/// </summary>
public sealed class SqlServerOptions
{
    /// <summary>
    /// A copy that times out is halved down to this many rows: a database that can't take 1,000 rows within the
    /// time-out is not slow, it is stuck.
    /// </summary>
    public const int SmallestCopyRows = 1_000;

    /// <summary>
    /// Rows of one WriteToServer. A batch goes over in one, as long as it does not time out: cutting it makes
    /// round trips and gains nothing, for it is one transaction in any case.
    /// </summary>
    public int CopyRows { get; init; } = int.MaxValue;

    /// <summary>
    /// How long one WriteToServer may take; zero: the connection string's Command Timeout, whose default of 30
    /// seconds is SqlBulkCopy's own. It is what the published system ran with, where
    /// <see cref="LoadSettings.DefaultBatchRows"/> rows passed and 25,000 timed out.
    /// </summary>
    public TimeSpan CopyTimeout { get; init; } = TimeSpan.Zero;

    /// <summary>Called with the number of rows before each WriteToServer; a test makes it fail as a server would.</summary>
    internal Action<int>? BeforeCopy { get; init; }

    /// <summary>
    /// How long a statement over many rows may take (a range of a match, exact counts, a chunk of a purge, a
    /// schema script): a sort of 100 million rows on a small tier, and less than a day of silence where
    /// something is stuck.
    /// </summary>
    public TimeSpan LongTimeout { get; init; } = TimeSpan.FromMinutes(30);

    /// <summary>
    /// No try begins later than this after the first: a failover or a scaling of Azure SQL takes seconds to
    /// half a minute; for what takes longer the message is put off, which holds no worker.
    /// </summary>
    public TimeSpan RetryFor { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The pause before the second try; it doubles, with jitter, up to <see cref="LongestRetryDelay"/>.</summary>
    public TimeSpan RetryDelay { get; init; } = TimeSpan.FromMilliseconds(250);

    /// <summary>The longest pause between two tries: a server that is back is not left waiting.</summary>
    public TimeSpan LongestRetryDelay { get; init; } = TimeSpan.FromSeconds(5);
}
