using Azure.Core.Pipeline;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// The tables of a storage account, through Azure.Data.Tables, except entity group transactions: for one of 100 entities the library takes
/// 24 to 72 times the CPU and allocates 26,745 bytes an entity. Nothing is logged or traced: request lines hold keys, which hold addresses.
/// </summary>
internal sealed class TableService
{
    /// <summary>The last service version that changed anything for tables.</summary>
    public const string Version = "2019-02-02";

    private readonly TableServiceClient _client;
    private readonly HttpPipeline _transactions;
    private readonly StorageOptions _options;
    private readonly string _endpoint;
    private readonly Uri _batch;

    public TableService(
        StorageConnection connection, TokenCredential? credential, StorageOptions options, HttpPipelineTransport transport,
        Action<long>? lost = null)
    {
        _options = options;
        _endpoint = connection.Tables.AbsoluteUri.TrimEnd('/');
        _batch = new Uri($"{_endpoint}/$batch{connection.Query}");
        var client = new TableClientOptions(TableClientOptions.ServiceVersion.V2019_02_02)
        {
            Transport = transport,
            RetryPolicy = new TableRetries(options, lost),
            Retry = { NetworkTimeout = options.NetworkTimeout },
            Diagnostics = { IsLoggingEnabled = false, IsDistributedTracingEnabled = false, IsTelemetryEnabled = false },
        };
        HttpPipelinePolicy[] authorization = [];
        if (connection.Key is not null)
        {
            var key = new TableSharedKeyCredential(connection.Account, Convert.ToBase64String(connection.Key));
            _client = new TableServiceClient(connection.Tables, key, client);
            authorization = [new SharedKeyPolicy(connection, options.TimeProvider)];
        }
        else if (connection.Sas is not null)
        {
            _client = new TableServiceClient(connection.Tables, new AzureSasCredential(connection.Sas), client);
        }
        else
        {
            _client = new TableServiceClient(connection.Tables, credential, client);
            authorization = [new BearerTokenAuthenticationPolicy(credential!, "https://storage.azure.com/.default")];
        }
        _transactions = HttpPipelineBuilder.Build(client, [], authorization, new ResponseClassifier());
    }

    public StorageTable Table(string name) => new(this, _client.GetTableClient(name));

    public MeasuredTable Measured(string name) => new(this, _client.GetTableClient(name));

    public Task<IReadOnlyList<string>> ListAsync(string prefix, CancellationToken cancellationToken) =>
        StorageCall.RunAsync<IReadOnlyList<string>>("listing of tables", async () =>
        {
            // All letters and digits sort before the tilde.
            var filter = TableClient.CreateQueryFilter($"TableName ge {prefix} and TableName lt {prefix + "~"}");
            return await _client.QueryAsync(filter, cancellationToken: cancellationToken).Select(table => table.Name)
                .ToListAsync(cancellationToken);
        }, cancellationToken);

    public byte[] TableAddress(string table) => Encoding.ASCII.GetBytes($"{_endpoint}/{table}");

    /// <param name="transaction">Idempotent: it is sent again after a lost connection or a failure of the service.</param>
    /// <returns>Null if written; otherwise the service throttles, and the caller sends again after the pause.</returns>
    public async Task<WriteRefusal?> SubmitAsync(TableTransaction transaction, CancellationToken cancellationToken)
    {
        for (var attempt = 0; ; attempt++)
        {
            using var message = await SendAsync(transaction, cancellationToken);
            var failure = FailureOf(transaction, message.Response, out var isRetriable);
            var retryAfter = RetryAfter(message.Response);
            if (failure is null)
            {
                StorageTelemetry.Transactions.Add(1);
                return null;
            }
            if (failure is StoreThrottledException throttled)
                return new WriteRefusal(throttled, retryAfter ?? TimeSpan.Zero);
            if (!isRetriable || attempt >= _options.MaxRetries)
                throw failure;
            await DelayAsync(attempt, retryAfter, cancellationToken);
        }
    }

    /// <summary>Runs a write of the library, with the same result and retries.</summary>
    public Task<WriteRefusal?> WriteAsync(Func<Task> write, string operation, CancellationToken cancellationToken) =>
        StorageCall.RunAsync<WriteRefusal?>(operation, async () =>
        {
            for (var attempt = 0; ; attempt++)
            {
                try
                {
                    await write();
                    StorageTelemetry.Transactions.Add(1);
                    return null;
                }
                catch (RequestFailedException e) when (e.Status > 0 && TableRetries.IsThrottled(e.Status, e.ErrorCode))
                {
                    if (e is TableTransactionFailedException && e.Status is 429 or 503)
                        StorageTelemetry.Throttled.Add(1);
                    return new WriteRefusal(Throttled(operation, e.Status, e.ErrorCode), RetryAfter(e.GetRawResponse()) ?? TimeSpan.Zero);
                }
                catch (TableTransactionFailedException e) when (e.Status is 500 or 502 && attempt < _options.MaxRetries)
                {
                    await DelayAsync(attempt, RetryAfter(e.GetRawResponse()), cancellationToken);
                }
            }
        }, cancellationToken);

    private async Task<HttpMessage> SendAsync(TableTransaction transaction, CancellationToken cancellationToken)
    {
        var message = _transactions.CreateMessage();
        var request = message.Request;
        request.Method = RequestMethod.Post;
        request.Uri.Reset(_batch);
        request.Headers.Add("Accept", "application/json;odata=nometadata");
        request.Headers.Add("x-ms-version", Version);
        request.Headers.Add("DataServiceVersion", "3.0");
        request.Headers.Add("MaxDataServiceVersion", "3.0;NetFx");
        request.Headers.Add("Content-Type", TableTransaction.ContentType);
        request.Content = RequestContent.Create(transaction.Body);
        try
        {
            await _transactions.SendAsync(message, cancellationToken);
            return message;
        }
        catch (Exception e)
        {
            // The connection may still read the body, so its buffer must not be reused.
            transaction.Abandon();
            message.Dispose();
            if (StorageErrors.Map(e, transaction.Operation, cancellationToken) is { } mapped)
                throw mapped;
            throw;
        }
    }

    private static HibpException? FailureOf(TableTransaction transaction, Response response, out bool isRetriable)
    {
        isRetriable = false;
        if (response.Status != 202)
            return Failure(transaction.Operation, response.Status, ODataError.CodeOf(response));
        var outcome = TransactionResponse.Parse(response.Content.ToMemory().Span);
        if (outcome.FailedStatus == 0)
        {
            isRetriable = true;
            return outcome.Succeeded == transaction.Count ? null : StorageErrors.Malformed(transaction.Operation);
        }
        if (outcome.FailedStatus is 429 or 503)
            StorageTelemetry.Throttled.Add(1);
        isRetriable = outcome.FailedStatus is 500 or 502;
        return Failure(transaction.Describe(outcome.FailedIndex), outcome.FailedStatus, outcome.Code);
    }

    private static HibpException Failure(string operation, int status, string? code) =>
        TableRetries.IsThrottled(status, code) ? Throttled(operation, status, code) : StorageErrors.FromStatus(operation, status, code);

    private static StoreThrottledException Throttled(string operation, int status, string? code) =>
        new(StorageErrors.FromStatus(operation, status, code).Message);

    /// <summary>At most <see cref="StorageOptions.MaxRetryDelay"/>: a partition is busy for seconds.</summary>
    private TimeSpan? RetryAfter(Response? response) =>
        response?.Headers.TryGetValue("Retry-After", out var text) == true && int.TryParse(text, out var seconds) && seconds >= 0
            ? TimeSpan.FromSeconds(Math.Min(seconds, _options.MaxRetryDelay.TotalSeconds)) : null;

    /// <summary>With jitter, so that workers refused together don't retry together.</summary>
    private Task DelayAsync(int attempt, TimeSpan? retryAfter, CancellationToken cancellationToken)
    {
        StorageTelemetry.Retries.Add(1);
        var longest = Math.Min(_options.MaxRetryDelay.TotalMilliseconds, _options.RetryDelay.TotalMilliseconds * Math.Pow(2, attempt));
        return Task.Delay(
            retryAfter ?? TimeSpan.FromMilliseconds(longest * (0.6 + (Random.Shared.NextDouble() * 0.4))), _options.TimeProvider,
            cancellationToken);
    }
}

/// <summary>The service throttled a write; nothing was written, or it isn't known to have been.</summary>
/// <param name="Pause">The service's Retry-After; zero: it named none.</param>
internal sealed record WriteRefusal(StoreThrottledException Failure, TimeSpan Pause);

/// <summary>
/// Signs each attempt of a transaction with the account key
/// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, "Table service (Shared Key authorization)"): verb,
/// Content-MD5, Content-Type, date, canonicalised resource. The library's own policy is internal.
/// </summary>
internal sealed class SharedKeyPolicy(StorageConnection connection, TimeProvider clock) : HttpPipelineSynchronousPolicy
{
    public override void OnSendingRequest(HttpMessage message)
    {
        var date = clock.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
        message.Request.Headers.SetValue("x-ms-date", date);
        message.Request.Headers.SetValue(
            "Authorization", Sign(connection, "POST", TableTransaction.ContentType, date, message.Request.Uri.ToUri()));
    }

    public static string Sign(StorageConnection connection, string method, string contentType, string date, Uri address) =>
        connection.Sign($"{method}\n\n{contentType}\n{date}\n/{connection.Account}{address.AbsolutePath}");
}
