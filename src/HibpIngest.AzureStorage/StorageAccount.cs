using Azure;
using Azure.Core;
using Azure.Core.Pipeline;
using Azure.Identity;
using Azure.Storage;
using Azure.Storage.Blobs;
using Azure.Storage.Queues;
using HibpIngest.AzureStorage.Blobs;
using HibpIngest.AzureStorage.Queues;
using HibpIngest.AzureStorage.Tables;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage;

/// <summary>
/// One storage account: the container breaches are dropped into, the catalogue's, the queues, the tables of accounts and of
/// their hashes, the keys, and the store register. Thread-safe; opening it asks the service nothing.
/// </summary>
public sealed class StorageAccount : IDisposable
{
    private readonly HttpClient _http;
    private readonly StorageConnection _connection;
    private readonly WriteThrottle _throttle;

    private StorageAccount(StorageConnection connection, ILoggerFactory loggers, StorageOptions options, HttpMessageHandler network)
    {
        _connection = connection;
        var token = connection.Key is null && connection.Sas is null
            ? new AccountTokens(options.Credential ?? new DefaultAzureCredential()) : null;
        var handler = token?.Watch(network) ?? network;
        _http = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        var transport = new HttpClientTransport(_http);

        var blobs = Configure(new BlobClientOptions(), options, transport);
        var queues = Configure(new QueueClientOptions(), options, transport);
        BlobServiceClient blobService;
        QueueServiceClient queueService;
        if (connection.Key is not null)
        {
            var key = new StorageSharedKeyCredential(connection.Account, Convert.ToBase64String(connection.Key));
            blobService = new BlobServiceClient(connection.Blobs, key, blobs);
            queueService = new QueueServiceClient(connection.Queues, key, queues);
        }
        else if (connection.Sas is not null)
        {
            var sas = new AzureSasCredential(connection.Sas);
            blobService = new BlobServiceClient(connection.Blobs, sas, blobs);
            queueService = new QueueServiceClient(connection.Queues, sas, queues);
        }
        else
        {
            blobService = new BlobServiceClient(connection.Blobs, token, blobs);
            queueService = new QueueServiceClient(connection.Queues, token, queues);
        }

        var tables = new TableService(connection, token, options, _http, new HttpMessageInvoker(handler, disposeHandler: false));
        Blobs = new BreachBlobs(blobService.GetBlobContainerClient(options.BreachContainer));
        Catalogue = new CatalogueBlobs(blobService.GetBlobContainerClient(options.CatalogueContainer));
        Queues = new MessageQueues(queueService, options.QueuePrefix, options.TimeProvider);
        _throttle = new WriteThrottle(options.TimeProvider);
        var accounts = new AccountTable(tables, _throttle, options.AccountsTable, loggers.CreateLogger<AccountTable>());
        (Table, Accounts, AccountPages) = (accounts, accounts, accounts);
        Ranges = new RangeTable(tables, _throttle, options.RangesTable, loggers.CreateLogger<RangeTable>());
        Keys = new ApiKeyTable(tables, options.KeysTable);
        Register = new StoreRegister(tables, options.RegisterTable);
    }

    public IBreachBlobs Blobs { get; }

    public ICatalogueBlobs Catalogue { get; }

    public IMessageQueues Queues { get; }

    public IAccountTable Table { get; }

    /// <summary>The same table, to be walked over.</summary>
    public IAccountPages AccountPages { get; }

    public IRangeTable Ranges { get; }

    public IStoreRegister Register { get; }

    /// <summary>The account table, as readers need it.</summary>
    public IAccountReads Accounts { get; }

    public IApiKeys Keys { get; }

    /// <summary>Whether the connection is to the emulator's well-known account on this machine.</summary>
    public bool IsEmulator => _connection.IsEmulator;

    /// <summary>For people: account and host, nothing secret.</summary>
    public string DisplayName =>
        IsEmulator ? $"emulator ({_connection.Blobs.Authority})" : $"{_connection.Account} ({_connection.Blobs.Authority})";

    public Uri BlobEndpoint => _connection.Blobs;

    public Uri QueueEndpoint => _connection.Queues;

    public Uri TableEndpoint => _connection.Tables;

    /// <summary>
    /// Opens an account by a storage connection string (key or shared access signature), by
    /// <c>UseDevelopmentStorage=true</c>, or by the account's blob endpoint or name; the last two with a token
    /// of Azure.Identity's default chain.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The connection is malformed. The message holds nothing of it.</exception>
    public static StorageAccount Open(string connection, ILoggerFactory loggers, StorageOptions? options = null) =>
        Open(connection, loggers, options, network: null);

    /// <param name="connection">As above.</param>
    /// <param name="loggers">As above.</param>
    /// <param name="options">As above.</param>
    /// <param name="network">In place of the network; the account disposes it. For tests.</param>
    internal static StorageAccount Open(string connection, ILoggerFactory loggers, StorageOptions? options, HttpMessageHandler? network)
    {
        ArgumentNullException.ThrowIfNull(connection);
        var parsed = StorageConnection.Parse(connection);
        return new StorageAccount(parsed, loggers, options ?? new StorageOptions(), network ?? CreateHandler(parsed));
    }

    /// <summary>Closes its connections.</summary>
    public void Dispose()
    {
        _throttle.Dispose();
        _http.Dispose();
    }

    private static SocketsHttpHandler CreateHandler(StorageConnection connection) => new()
    {
        // Many transactions in flight, over HTTP/1.1: one connection each.
        MaxConnectionsPerServer = 512,
        // So that a change of the account's address is seen.
        PooledConnectionLifetime = TimeSpan.FromMinutes(5),
        // The emulator closes idle connections after 5 s by default; the service after minutes.
        PooledConnectionIdleTimeout = connection.IsLoopback ? TimeSpan.FromSeconds(4) : TimeSpan.FromMinutes(1),
        ConnectTimeout = TimeSpan.FromSeconds(10),
        // A proxy from the environment is for the way out, never for this machine.
        UseProxy = !connection.IsLoopback,
        UseCookies = false,
        AllowAutoRedirect = false,
        // No propagator: no activity either, so that no trace holds a table request's address, which holds its keys.
        ActivityHeadersPropagator = null,
    };

    private static T Configure<T>(T client, StorageOptions options, HttpPipelineTransport transport)
        where T : ClientOptions
    {
        client.Transport = transport;
        client.Retry.Mode = RetryMode.Exponential;
        client.Retry.MaxRetries = options.MaxRetries;
        client.Retry.Delay = options.RetryDelay;
        client.Retry.MaxDelay = options.MaxRetryDelay;
        client.Retry.NetworkTimeout = options.NetworkTimeout;
        client.Diagnostics.IsLoggingContentEnabled = false;
        return client;
    }
}
