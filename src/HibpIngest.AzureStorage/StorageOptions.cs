using Azure.Core;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage;

/// <summary>
/// Names within the storage account, and how patiently it is asked. The defaults are what the pipeline uses;
/// tests and benchmarks change them.
/// </summary>
public sealed class StorageOptions
{
    /// <summary>Put before the names of a layout's tables.</summary>
    public string TablePrefix { get; init; } = "";

    public string RegisterTable { get; init; } = "hibpstore";

    public string KeysTable { get; init; } = "hibpkeys";

    public string BreachContainer { get; init; } = IBreachBlobs.Container;

    public string CatalogueContainer { get; init; } = ICatalogueBlobs.Container;

    /// <summary>Container of Pwned Passwords.</summary>
    public string PasswordsContainer { get; init; } = IPasswordBlobs.Container;

    /// <summary>Table and container of hashes that are to be added to them.</summary>
    public string PasswordAppends { get; init; } = IPasswordAppends.Name;

    public string PasswordDropsContainer { get; init; } = IPasswordDrops.Container;

    public string AccountLogContainer { get; init; } = IAccountLogBlobs.Container;

    public string AccessLogContainer { get; init; } = IAccessBlobs.Container;

    public string UsageTable { get; init; } = IUsageTable.Name;

    /// <summary>Table of the clients that are called back.</summary>
    public string ClientsTable { get; init; } = ICallbackClients.Table;

    /// <summary>Container of the prefixes that they watch.</summary>
    public string ClientsContainer { get; init; } = IPrefixBlobs.Container;

    /// <summary>Container of what they are called of.</summary>
    public string CallbacksContainer { get; init; } = ICallbackBlobs.Container;

    public string QueuePrefix { get; init; } = "";

    /// <summary>
    /// Further tries of a call that was throttled, answered 5xx or lost its connection. Five, doubling from
    /// <see cref="RetryDelay"/>, ride out what takes seconds; what takes longer is the pipeline's to put off.
    /// </summary>
    public int MaxRetries { get; init; } = 5;

    /// <summary>
    /// Wait before the first retry; doubled, with jitter, for each further one. A Retry-After of the service
    /// counts instead.
    /// </summary>
    public TimeSpan RetryDelay { get; init; } = TimeSpan.FromMilliseconds(400);

    public TimeSpan MaxRetryDelay { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Longest silence on a connection. The service itself ends a table request after 30 s
    /// (learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination).
    /// </summary>
    public TimeSpan NetworkTimeout { get; init; } = TimeSpan.FromSeconds(60);

    /// <summary>The same for appends to the access log; null: the same. One that fails refuses every request that must be logged.</summary>
    public TimeSpan? AppendTimeout { get; init; }

    /// <summary>
    /// Transactions in flight to the account's tables, of all slices together; null: as many as its answers allow. For benchmarks,
    /// which compare the two.
    /// </summary>
    internal int? TransactionsInFlight { get; init; }

    /// <summary>Where tokens come from when the account is named without a key; null: Azure.Identity's default chain.</summary>
    public TokenCredential? Credential { get; init; }

    /// <summary>The clock of delays and signatures.</summary>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;
}
