namespace HibpIngest.Storage.Azure.Connections;

/// <summary>Names within the storage account, retries and timeouts. Tests and benchmarks change the names.</summary>
public sealed class StorageOptions
{
    /// <summary>Prefix of the names of a layout's tables.</summary>
    public string TablePrefix { get; init; } = "";

    public string RegisterTable { get; init; } = "hibpstore";

    public string BreachContainer { get; init; } = IBreachBlobs.Container;

    public string PasswordsContainer { get; init; } = IPasswordBlobs.Container;

    public string PasswordDropsContainer { get; init; } = IPasswordDrops.Container;

    public string QueuePrefix { get; init; } = "";

    /// <summary>
    /// Retries of a call that was throttled, answered 5xx or lost its connection. Five, doubling from <see cref="RetryDelay"/>, cover
    /// outages of seconds; the pipeline defers the message in longer ones.
    /// </summary>
    public int MaxRetries { get; init; } = 5;

    /// <summary>Before the first retry; doubles, with jitter. The service's Retry-After takes precedence.</summary>
    public TimeSpan RetryDelay { get; init; } = TimeSpan.FromMilliseconds(400);

    public TimeSpan MaxRetryDelay { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Timeout of a connection without data. The service itself ends a table request after 30 s
    /// (learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination).
    /// </summary>
    public TimeSpan NetworkTimeout { get; init; } = TimeSpan.FromSeconds(60);

    /// <summary><see cref="NetworkTimeout"/> of appends to the access log, whose failure rejects requests; null to use that.</summary>
    public TimeSpan? AppendTimeout { get; init; }

    /// <summary>Fixed limit of transactions in flight to the account's tables, for benchmarks; null if it follows the latency.</summary>
    internal int? TransactionsInFlight { get; init; }

    /// <summary>Credential of an account named without a key; null for Azure.Identity's default chain.</summary>
    public TokenCredential? Credential { get; init; }

    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;
}
