using System.Collections.Concurrent;
using Azure.Core.Pipeline;
using Azure.Identity;
using Azure.Storage;
using Azure.Storage.Queues;
using HibpIngest.Storage.Azure.Blobs;
using HibpIngest.Storage.Azure.Queues;
using HibpIngest.Storage.Azure.Tables;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Azure;

/// <summary>The stores in a storage account: containers, queues and tables. Thread-safe; opening it calls no service.</summary>
public sealed class StorageAccount : IDisposable
{
    /// <summary>The emulator's well-known account (learn.microsoft.com/azure/storage/common/storage-use-azurite).</summary>
    public const string EmulatorAccount = StorageConnection.EmulatorAccount;

    /// <summary>No secret.</summary>
    public const string EmulatorKey = StorageConnection.EmulatorKey;

    private static readonly TimeSpan HeartbeatTimeout = TimeSpan.FromSeconds(15);

    private readonly HttpClient _http;
    private readonly HttpClient _heartbeats;
    private readonly StorageConnection _connection;
    private readonly WriteThrottle _throttle;
    private readonly TableService _tables;
    private readonly PointReads _reads;
    private readonly string _tablePrefix;
    private readonly ILoggerFactory _loggers;
    private readonly ConcurrentDictionary<string, AccountTable> _accountTables = [];
    private readonly ConcurrentDictionary<string, RangeTable> _rangeTables = [];
    private readonly IReadOnlyList<StorageAccount> _further;

    private StorageAccount(
        StorageConnection connection, ILoggerFactory loggers, StorageOptions options, HttpMessageHandler network,
        IReadOnlyList<StorageAccount> further)
    {
        (_connection, _loggers, _further) = (connection, loggers, further);
        var token = connection.Key is null && connection.Sas is null
            ? new AccountTokens(options.Credential ?? new DefaultAzureCredential()) : null;
        var handler = token?.Watch(network) ?? network;
        _http = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        var transport = new HttpClientTransport(_http);

        var sharedKey = connection.Key is null ? null
            : new StorageSharedKeyCredential(connection.Account, Convert.ToBase64String(connection.Key));
        var blobService = BlobService(Configure(new BlobClientOptions(), options, transport));
        // Appends aren't retried by the library: the writer of the access log checks itself whether a block was appended.
        var once = Configure(new BlobClientOptions(), options, transport);
        once.Retry.MaxRetries = 0;
        once.Retry.NetworkTimeout = options.AppendTimeout ?? options.NetworkTimeout;
        var onceService = BlobService(once);
        var queueOptions = Configure(new QueueClientOptions(), options, transport);
        var queueService = sharedKey is not null ? new QueueServiceClient(connection.Queues, sharedKey, queueOptions)
            : connection.Sas is not null ? new QueueServiceClient(connection.Queues, new AzureSasCredential(connection.Sas), queueOptions)
            : new QueueServiceClient(connection.Queues, token, queueOptions);

        var reads = new HttpMessageInvoker(handler, disposeHandler: false);
        _throttle = new WriteThrottle(options.TimeProvider, options.TransactionsInFlight);
        _tables = new TableService(connection, token, options, transport, _throttle.Lost);
        _tablePrefix = options.TablePrefix;
        Blobs = new BreachBlobs(Container(options.BreachContainer));
        Catalogue = new CatalogueBlobs(Container(ICatalogueBlobs.Container));
        Queues = new MessageQueues(queueService, options.QueuePrefix, options.TimeProvider);
        _reads = new PointReads(reads, connection, token, options);
        var all = new StorageTables([this, .. further]);
        (Tables, StoreAccounts) = (all, all);
        Keys = new ApiKeyTable(_tables.Table(IApiKeys.Table));
        OwnRegister = new StoreRegister(_tables.Table(options.RegisterTable), options.TimeProvider);
        // Own connections, so that heartbeats never wait for other requests. No retries: the next heartbeat follows anyway.
        _heartbeats = new HttpClient(CreateHandler(connection, isForHeartbeats: true)) { Timeout = Timeout.InfiniteTimeSpan };
        var heartbeats = new TableService(
            connection, token,
            new StorageOptions { MaxRetries = 0, NetworkTimeout = HeartbeatTimeout, TimeProvider = options.TimeProvider },
            new HttpClientTransport(_heartbeats));
        Heartbeats = new StoreRegister(heartbeats.Table(options.RegisterTable), options.TimeProvider);
        var passwords = Container(options.PasswordsContainer);
        PasswordBlobs = new PasswordBlobs(passwords, new BlobReads(reads, passwords.Uri, connection, token, options));
        PasswordTables = new PasswordTables(_tables, _throttle);
        SignIns = new SignInTable(_tables.Table(ISignIns.Table));
        PasswordAppends = new PasswordAppends(_tables.Table(IPasswordAppends.Name), Container(IPasswordAppends.Name));
        PasswordDrops = new PasswordDrops(Container(options.PasswordDropsContainer));
        AccessLog = new AccessBlobs(Container(IAccessBlobs.Container), onceService.GetBlobContainerClient(IAccessBlobs.Container));
        Usage = new UsageTable(_tables.Table(IUsageTable.Name), _throttle);
        Clients = new CallbackClientTable(_tables.Table(ICallbackClients.Table));
        Prefixes = new PrefixBlobs(Container(IPrefixBlobs.Container));
        Callbacks = new CallbackBlobs(Container(ICallbackBlobs.Container));
        JournalBlobs = new JournalBlobs(Container(IJournalBlobs.Container));

        BlobServiceClient BlobService(BlobClientOptions client) =>
            sharedKey is not null ? new BlobServiceClient(connection.Blobs, sharedKey, client)
            : connection.Sas is not null ? new BlobServiceClient(connection.Blobs, new AzureSasCredential(connection.Sas), client)
            : new BlobServiceClient(connection.Blobs, token, client);

        BlobContainerClient Container(string name) => blobService.GetBlobContainerClient(name);
    }

    public IBreachBlobs Blobs { get; }

    public ICatalogueBlobs Catalogue { get; }

    public IMessageQueues Queues { get; }

    /// <summary>The tables of accounts and of their hashes, in all storage accounts of the store.</summary>
    public IStoreTables Tables { get; }

    /// <summary>All storage accounts of the store, beginning with this one.</summary>
    public IStorageAccounts StoreAccounts { get; }

    public IStoreRegister Register => OwnRegister;

    internal StoreRegister OwnRegister { get; }

    /// <summary>The hosts' heartbeats, over connections that nothing else uses.</summary>
    public IHeartbeats Heartbeats { get; }

    public IApiKeys Keys { get; }

    public IPasswordBlobs PasswordBlobs { get; }

    public IPasswordTables PasswordTables { get; }

    public IPasswordAppends PasswordAppends { get; }

    public ISignIns SignIns { get; }

    public IPasswordDrops PasswordDrops { get; }

    public IJournalBlobs JournalBlobs { get; }

    public IAccessBlobs AccessLog { get; }

    public IUsageTable Usage { get; }

    public ICallbackClients Clients { get; }

    public IPrefixBlobs Prefixes { get; }

    public ICallbackBlobs Callbacks { get; }

    /// <summary>True if the connection is to the emulator's well-known account on this machine.</summary>
    public bool IsEmulator => _connection.IsEmulator;

    /// <summary>Account and host, without secrets, for output.</summary>
    public string DisplayName =>
        IsEmulator ? $"emulator ({_connection.Blobs.Authority})" : $"{_connection.Account} ({_connection.Blobs.Authority})";

    public string Name => _connection.Account;

    public Uri BlobEndpoint => _connection.Blobs;

    public Uri QueueEndpoint => _connection.Queues;

    public Uri TableEndpoint => _connection.Tables;

    /// <summary>
    /// Opens an account by a storage connection string (key or shared access signature), by <c>UseDevelopmentStorage=true</c>, or by the
    /// account's blob endpoint or name; the last two with a token of Azure.Identity's default chain.
    /// </summary>
    /// <param name="options">Names, retries and timeouts; null for the defaults.</param>
    /// <param name="further">Connections of the store's other storage accounts, in order. They hold only tables.</param>
    /// <exception cref="BadInputException">A connection is malformed. The message repeats no part of it.</exception>
    public static StorageAccount Open(
        string connection, ILoggerFactory loggers, StorageOptions? options = null, IReadOnlyList<string>? further = null) =>
        Open(connection, loggers, options, network: null, further);

    /// <param name="connection">The same as for opening an account.</param>
    /// <param name="setting">The setting's name for the error message.</param>
    /// <exception cref="BadInputException">The connection is malformed. The message repeats no part of it.</exception>
    public static bool Check(string connection, string setting)
    {
        try
        {
            StorageConnection.Parse(connection);
            return true;
        }
        catch (BadInputException e)
        {
            throw new BadInputException($"{setting}: {e.Message}", e);
        }
    }

    /// <param name="network">Replaces the network, for tests; disposed with the account.</param>
    internal static StorageAccount Open(
        string connection, ILoggerFactory loggers, StorageOptions? options, HttpMessageHandler? network,
        IReadOnlyList<string>? further = null)
    {
        ArgumentNullException.ThrowIfNull(connection);
        // Malformed connections are reported before anything is opened.
        StorageConnection[] parsed = [.. ((string[])[connection, .. further ?? []]).Select(StorageConnection.Parse)];
        options ??= new StorageOptions();
        return new StorageAccount(
            parsed[0], loggers, options, network ?? CreateHandler(parsed[0]),
            [.. parsed.Skip(1).Select(one => new StorageAccount(one, loggers, options, CreateHandler(one), []))]);
    }

    public void Dispose()
    {
        foreach (var account in _further)
            account.Dispose();
        _throttle.Dispose();
        _http.Dispose();
        _heartbeats.Dispose();
    }

    /// <summary>Returns a table for measurements, which is not a part of the store.</summary>
    public MeasuredTable MeasuredTable(string name) => _tables.Measured(name);

    /// <summary>Lists the tables whose names begin with the prefix.</summary>
    public Task<IReadOnlyList<string>> ListTablesAsync(string prefix, CancellationToken cancellationToken) =>
        _tables.ListAsync(prefix, cancellationToken);

    internal AccountTable AccountTable(string name) => _accountTables.GetOrAdd(
        name,
        static (name, self) => new AccountTable(
            self._tables.Table(self._tablePrefix + name), self._reads, self._throttle, self._loggers.CreateLogger<AccountTable>()),
        this);

    internal RangeTable RangeTable(string name) => _rangeTables.GetOrAdd(
        name,
        static (name, self) => new RangeTable(
            self._tables.Table(self._tablePrefix + name), self._throttle, self._loggers.CreateLogger<RangeTable>()),
        this);

    private static SocketsHttpHandler CreateHandler(StorageConnection connection, bool isForHeartbeats = false) => new()
    {
        // HTTP/1.1: each transaction in flight needs a connection of its own.
        MaxConnectionsPerServer = InFlightLimit.Max,
        // Connections are replaced, so that a change of the account's IP address takes effect.
        PooledConnectionLifetime = TimeSpan.FromMinutes(5),
        // The emulator closes idle connections after 5 s by default, after 2 minutes if 'hibp run' started it; the service after
        // minutes. A heartbeat is sent every 5 s, and a busy emulator may take longer than that to accept a connection.
        PooledConnectionIdleTimeout =
            connection.IsLoopback && !isForHeartbeats ? TimeSpan.FromSeconds(4) : TimeSpan.FromMinutes(1),
        ConnectTimeout = TimeSpan.FromSeconds(10),
        // A proxy from the environment doesn't apply to this machine.
        UseProxy = !connection.IsLoopback,
        UseCookies = false,
        AllowAutoRedirect = false,
        // Without a propagator no activity is created, so no trace holds the URL of a table request, which contains keys.
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
