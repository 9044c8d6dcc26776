using System.Buffers;
using System.Net;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using Azure.Core;
using Azure.Core.Pipeline;
using HibpIngest.Errors;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// The Table service (learn.microsoft.com/rest/api/storageservices/table-service-rest-api) on Azure.Core's
/// pipeline: as much of it as the account table and the store register need. Request lines hold keys, which
/// hold addresses: its pipeline logs and traces nothing.
/// </summary>
internal sealed partial class TableService
{
    /// <summary>The last version that changed anything for tables.</summary>
    public const string ServiceVersion = "2019-02-02";

    private const string MinimalMetadata = "application/json;odata=minimalmetadata";
    public const string NoMetadata = "application/json;odata=nometadata";

    /// <summary>An answer to a transaction of 100 is about 30 KB.</summary>
    private const int AnswerBytes = 64 * 1024;

    /// <summary>Nothing that a table answers is longer.</summary>
    public const int MaxAnswerBytes = 16 * 1024 * 1024;

    private readonly HttpPipeline _pipeline;
    private readonly StorageOptions _options;
    private readonly string _endpoint;
    private readonly string? _sas;
    private readonly Uri _batch;
    private readonly DirectRequests _direct;
    private readonly PointReads _reads;
    private readonly Action<long>? _lost;

    /// <param name="connection">The account.</param>
    /// <param name="credential">Where it is named without a key.</param>
    /// <param name="options">How patiently it is asked.</param>
    /// <param name="http">The way to it.</param>
    /// <param name="direct">The same way without what a client adds to each request; null: there is none but that.</param>
    /// <param name="lost">Told of each try that had no answer, with the timestamp at which it was sent.</param>
    public TableService(
        StorageConnection connection, TokenCredential? credential, StorageOptions options, HttpClient http,
        HttpMessageInvoker? direct = null, Action<long>? lost = null)
    {
        _lost = lost;
        var transport = new HttpClientTransport(http);
        _direct = new DirectRequests(direct ?? http, connection, credential, options);
        _reads = new PointReads(_direct);
        _options = options;
        _endpoint = connection.Tables.AbsoluteUri.TrimEnd('/');
        _sas = connection.Sas;
        _batch = Address("$batch", null);

        HttpPipelinePolicy? authorization = null;
        if (connection.Key is not null)
            authorization = new SharedKeyPolicy(connection.Account, connection.Key, options.TimeProvider);
        else if (credential is not null)
            authorization = new BearerTokenAuthenticationPolicy(credential, "https://storage.azure.com/.default");
        List<HttpPipelinePolicy> eachTry = [TryCountPolicy.Instance];
        if (authorization is not null)
            eachTry.Insert(0, authorization);
        if (lost is not null)
            eachTry.Add(new LostTryPolicy(lost, options.TimeProvider));
        _pipeline = HttpPipelineBuilder.Build(new TableClientOptions(options, transport), [], [.. eachTry], new ResponseClassifier());
    }

    /// <summary>Address of a table, in UTF-8, as the parts of a transaction give it.</summary>
    public byte[] TableAddress(string table) => Encoding.ASCII.GetBytes($"{_endpoint}/{table}");

    /// <summary>Creates a table; false: it is there already.</summary>
    public async Task<bool> CreateTableAsync(string table, CancellationToken cancellationToken)
    {
        var operation = $"creation of table {table}";
        using var body = JsonBody(writer => writer.WriteString("TableName", table));
        using var answer = await SendAsync(
            RequestMethod.Post, Address("Tables", null), body, null, NoMetadata, operation, cancellationToken);
        if (answer.Status == (int)HttpStatusCode.Conflict && answer.Code == "TableAlreadyExists")
            return false;
        answer.ThrowUnlessSuccess(operation);
        return true;
    }

    /// <summary>Deletes a table, if there is one. The service takes a while over it, and gives its name away again only then.</summary>
    public async Task DropTableAsync(string table, CancellationToken cancellationToken)
    {
        var operation = $"deletion of table {table}";
        using var answer = await SendAsync(
            RequestMethod.Delete, Address($"Tables('{table}')", null), null, "*", NoMetadata, operation, cancellationToken);
        if (answer.Status != (int)HttpStatusCode.NotFound)
            answer.ThrowUnlessSuccess(operation);
    }

    /// <summary>One entity with its ETag in <c>odata.etag</c>; null where there is none.</summary>
    public async Task<JsonElement?> GetAsync(
        string table, string partitionKey, string rowKey, string operation, CancellationToken cancellationToken)
    {
        using var answer = await SendAsync(
            RequestMethod.Get, EntityAddress(table, partitionKey, rowKey), null, null, MinimalMetadata, operation, cancellationToken);
        if (answer.Status == (int)HttpStatusCode.NotFound && answer.Code is "ResourceNotFound" or "EntityNotFound")
            return null;
        answer.ThrowUnlessSuccess(operation);
        return answer.Json(operation);
    }

    /// <summary>What is made of one entity's JSON.</summary>
    /// <param name="table">Its table.</param>
    /// <param name="partitionKey">Its partition.</param>
    /// <param name="rowKey">Its row.</param>
    /// <param name="parse">Makes it.</param>
    /// <param name="missing">Given where there is no such entity.</param>
    /// <param name="operation">For messages.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <exception cref="StoreUnavailableException">Among others: it can't be made of that.</exception>
    public async Task<T> FindAsync<T>(
        string table, string partitionKey, string rowKey, PointReads.ReadOnlySpanFunc<T> parse, T missing, string operation,
        CancellationToken cancellationToken)
        where T : class
    {
        var address = EntityAddress(table, partitionKey, rowKey);
        var (answered, value) = await _reads.TryReadAsync(address, parse, cancellationToken);
        if (answered)
            return value ?? missing;
        using var answer = await SendAsync(RequestMethod.Get, address, null, null, NoMetadata, operation, cancellationToken);
        if (answer.Status == (int)HttpStatusCode.NotFound && answer.Code is "ResourceNotFound" or "EntityNotFound")
            return missing;
        answer.ThrowUnlessSuccess(operation);
        try
        {
            return parse(answer.Bytes.Span);
        }
        catch (JsonException)
        {
            throw TableAnswer.Malformed(operation);
        }
    }

    /// <summary>Inserts an entity; false when there is one of that key.</summary>
    public async Task<bool> InsertAsync(
        string table, string partitionKey, string rowKey, Action<Utf8JsonWriter> properties, string operation,
        CancellationToken cancellationToken)
    {
        using var body = JsonBody(writer =>
        {
            writer.WriteString("PartitionKey", partitionKey);
            writer.WriteString("RowKey", rowKey);
            properties(writer);
        });
        using var answer = await SendAsync(RequestMethod.Post, Address(table, null), body, null, NoMetadata, operation, cancellationToken);
        if (answer.Status == (int)HttpStatusCode.Conflict && answer.Code == "EntityAlreadyExists")
            return false;
        answer.ThrowUnlessSuccess(operation);
        return true;
    }

    /// <summary>Writes an entity whole, whatever is there.</summary>
    public async Task PutAsync(
        string table, string partitionKey, string rowKey, Action<Utf8JsonWriter> properties, string operation,
        CancellationToken cancellationToken)
    {
        using var body = JsonBody(properties);
        using var answer = await SendAsync(
            RequestMethod.Put, EntityAddress(table, partitionKey, rowKey), body, null, NoMetadata, operation, cancellationToken);
        answer.ThrowUnlessSuccess(operation);
    }

    /// <summary>The same on the calling thread.</summary>
    public void Put(
        string table, string partitionKey, string rowKey, Action<Utf8JsonWriter> properties, string operation,
        CancellationToken cancellationToken)
    {
        using var body = JsonBody(properties);
        var message = CreateMessage(
            RequestMethod.Put, EntityAddress(table, partitionKey, rowKey), body, ifMatch: null, NoMetadata, classifier: null);
        try
        {
            _pipeline.Send(message, cancellationToken);
        }
        catch (Exception e)
        {
            // The connection may still hold the body: it is not used again.
            body.Abandon();
            message.Dispose();
            var mapped = StorageErrors.Map(e, operation, cancellationToken);
            if (ReferenceEquals(mapped, e))
                throw;
            throw mapped;
        }
        using var answer = new TableAnswer(message);
        answer.ThrowUnlessSuccess(operation);
    }

    /// <summary>
    /// Adds properties to an entity, which is made where there is none (InsertOrMerge). Not null: the service
    /// asks to slow down; to be called again then.
    /// </summary>
    public async Task<WriteRefusal?> MergeAsync(
        string table, string partitionKey, string rowKey, Action<Utf8JsonWriter> properties, string operation,
        CancellationToken cancellationToken)
    {
        using var body = JsonBody(properties);
        using var answer = await SendAsync(
            RequestMethod.Patch, EntityAddress(table, partitionKey, rowKey), body, null, NoMetadata, operation, cancellationToken,
            ThrottleClassifier.Instance);
        if (answer.Status is < 200 or >= 300 && ThrottleClassifier.IsThrottled(answer.Status, answer.Code))
            return Refusal(operation, answer.Status, answer.Code, RetryAfter(answer.Header("Retry-After")));
        answer.ThrowUnlessSuccess(operation);
        StorageTelemetry.Transactions.Add(1);
        return null;
    }

    /// <summary>Replaces an entity; false when it is gone or of another version by now.</summary>
    public async Task<bool> ReplaceAsync(
        string table, string partitionKey, string rowKey, string etag, Action<Utf8JsonWriter> properties, string operation,
        CancellationToken cancellationToken) =>
        await UpdateAsync(table, partitionKey, rowKey, etag, properties, operation, cancellationToken) is not null;

    /// <summary>As <see cref="ReplaceAsync"/>; the ETag that it has then, and null when it is gone or of another version by now.</summary>
    public async Task<string?> UpdateAsync(
        string table, string partitionKey, string rowKey, string etag, Action<Utf8JsonWriter> properties, string operation,
        CancellationToken cancellationToken)
    {
        using var body = JsonBody(properties);
        using var answer = await SendAsync(
            RequestMethod.Put, EntityAddress(table, partitionKey, rowKey), body, etag, NoMetadata, operation, cancellationToken);
        return Kept(answer, operation) ? answer.Header("ETag") : null;
    }

    /// <summary>Deletes an entity; false when it is gone or of another version by now.</summary>
    public async Task<bool> DeleteAsync(
        string table, string partitionKey, string rowKey, string etag, string operation, CancellationToken cancellationToken)
    {
        using var answer = await SendAsync(
            RequestMethod.Delete, EntityAddress(table, partitionKey, rowKey), null, etag, NoMetadata, operation, cancellationToken);
        return Kept(answer, operation);
    }

    /// <summary>
    /// The entities that a filter finds, page by page in key order. A page may be empty and still not be the
    /// last.
    /// </summary>
    public async IAsyncEnumerable<JsonElement> QueryAsync(
        string table, string filter, string? select, string operation, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var query = $"$filter={Uri.EscapeDataString(filter)}{(select is null ? "" : $"&$select={Uri.EscapeDataString(select)}")}";
        var next = "";
        while (next is not null)
        {
            JsonElement page;
            using (var answer = await SendAsync(
                RequestMethod.Get, Address($"{table}()", query + next), null, null, MinimalMetadata, operation, cancellationToken))
            {
                answer.ThrowUnlessSuccess(operation);
                page = answer.Json(operation);
                next = Continuation(answer);
            }

            if (page.ValueKind != JsonValueKind.Object || !page.TryGetProperty("value", out var entities)
                || entities.ValueKind != JsonValueKind.Array)
                throw TableAnswer.Malformed(operation);
            foreach (var entity in entities.EnumerateArray())
                yield return entity;
        }
    }

    /// <summary>As <see cref="QueryAsync"/>, each page as it came, to be read before the next is asked for.</summary>
    public async IAsyncEnumerable<ReadOnlyMemory<byte>> QueryBytesAsync(
        string table, string filter, string? select, string operation, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var query = $"$filter={Uri.EscapeDataString(filter)}{(select is null ? "" : $"&$select={Uri.EscapeDataString(select)}")}";
        for (var next = ""; next is not null;)
        {
            using var answer = await SendAsync(
                RequestMethod.Get, Address($"{table}()", query + next), null, null, NoMetadata, operation, cancellationToken);
            answer.ThrowUnlessSuccess(operation);
            yield return answer.Bytes;
            next = Continuation(answer);
        }
    }

    /// <summary>
    /// Carries out an entity group transaction. What the service says of it counts, not that it answered: a
    /// part that failed on the service's side is sent again with the whole, as a lost connection is, which
    /// takes a transaction that may be done twice. Not null: the service asks to slow down; to be called again
    /// then.
    /// </summary>
    public async Task<WriteRefusal?> SubmitAsync(TableTransaction transaction, CancellationToken cancellationToken)
    {
        for (var attempt = 0; ; attempt++)
        {
            var (failure, retriable, retryAfter) = await TrySubmitAsync(transaction, cancellationToken);
            if (failure is null)
            {
                StorageTelemetry.Transactions.Add(1);
                return null;
            }

            if (failure is StoreThrottledException throttled)
                return new WriteRefusal(throttled, Pause(retryAfter));
            if (!retriable || attempt >= _options.MaxRetries)
                throw failure;
            StorageTelemetry.Retries.Add(1);
            await Task.Delay(Delay(attempt, retryAfter), _options.TimeProvider, cancellationToken);
        }
    }

    private WriteRefusal Refusal(string operation, int status, string? code, TimeSpan? retryAfter) =>
        new(Throttled(operation, status, code), Pause(retryAfter));

    private static StoreThrottledException Throttled(string operation, int status, string? code) =>
        new(StorageErrors.FromStatus(operation, status, code).Message);

    /// <summary>Doubtful where it is long: a partition is busy for seconds.</summary>
    private TimeSpan Pause(TimeSpan? retryAfter) =>
        retryAfter is not { } told ? TimeSpan.Zero : told < _options.MaxRetryDelay ? told : _options.MaxRetryDelay;

    /// <summary>Percent-encoded, and with quotes doubled: a key within an address.</summary>
    private static string Key(string key) => Uri.EscapeDataString(key.Replace("'", "''", StringComparison.Ordinal));

    private static bool Kept(TableAnswer answer, string operation)
    {
        if (answer.Status is (int)HttpStatusCode.PreconditionFailed
            || (answer.Status == (int)HttpStatusCode.NotFound && answer.Code is "ResourceNotFound" or "EntityNotFound"))
            return false;
        answer.ThrowUnlessSuccess(operation);
        return true;
    }

    private static string? Continuation(TableAnswer answer)
    {
        var partition = answer.Header("x-ms-continuation-NextPartitionKey");
        var row = answer.Header("x-ms-continuation-NextRowKey");
        if (string.IsNullOrEmpty(partition))
            return null;
        return $"&NextPartitionKey={Uri.EscapeDataString(partition)}"
            + (string.IsNullOrEmpty(row) ? "" : $"&NextRowKey={Uri.EscapeDataString(row)}");
    }

    private static PooledBytes JsonBody(Action<Utf8JsonWriter> properties)
    {
        var body = new PooledBytes(512);
        using var writer = new Utf8JsonWriter(body);
        writer.WriteStartObject();
        properties(writer);
        writer.WriteEndObject();
        writer.Flush();
        return body;
    }

    private Uri EntityAddress(string table, string partitionKey, string rowKey) =>
        Address($"{table}(PartitionKey='{Key(partitionKey)}',RowKey='{Key(rowKey)}')", null);

    private Uri Address(string path, string? query)
    {
        var separator = query is null ? "?" : "&";
        return new($"{_endpoint}/{path}{(query is null ? "" : "?" + query)}{(_sas is null ? "" : separator + _sas)}");
    }

    private HttpMessage CreateMessage(RequestMethod method, Uri address, string accept)
    {
        var message = _pipeline.CreateMessage();
        message.Request.Method = method;
        message.Request.Uri.Reset(address);
        var headers = message.Request.Headers;
        headers.Add("Accept", accept);
        headers.Add("x-ms-version", ServiceVersion);
        headers.Add("DataServiceVersion", "3.0");
        headers.Add("MaxDataServiceVersion", "3.0;NetFx");
        return message;
    }

    private HttpMessage CreateMessage(
        RequestMethod method, Uri address, PooledBytes? body, string? ifMatch, string accept, ResponseClassifier? classifier)
    {
        var message = CreateMessage(method, address, accept);
        if (classifier is not null)
            message.ResponseClassifier = classifier;
        if (body is not null)
        {
            message.Request.Headers.Add("Content-Type", "application/json");
            message.Request.Content = RequestContent.Create(body.Written);
        }
        if (method == RequestMethod.Post)
            message.Request.Headers.Add("Prefer", "return-no-content");
        if (ifMatch is not null)
            message.Request.Headers.Add("If-Match", ifMatch);
        return message;
    }

    private async Task<TableAnswer> SendAsync(
        RequestMethod method, Uri address, PooledBytes? body, string? ifMatch, string accept, string operation,
        CancellationToken cancellationToken,
        ResponseClassifier? classifier = null)
    {
        var message = CreateMessage(method, address, body, ifMatch, accept, classifier);
        try
        {
            await _pipeline.SendAsync(message, cancellationToken);
            return new TableAnswer(message);
        }
        catch (Exception e)
        {
            // The connection may still hold the body: it is not used again.
            body?.Abandon();
            message.Dispose();
            var mapped = StorageErrors.Map(e, operation, cancellationToken);
            if (ReferenceEquals(mapped, e))
                throw;
            throw mapped;
        }
    }

    private async Task<(HibpException? Failure, bool Retriable, TimeSpan? RetryAfter)> TrySubmitAsync(
        TableTransaction transaction, CancellationToken cancellationToken)
    {
        if (await TrySubmitDirectAsync(transaction, cancellationToken) is { } answered)
            return answered;
        var operation = transaction.Operation;
        using var message = CreateMessage(RequestMethod.Post, _batch, NoMetadata);
        // Read from the connection into a buffer that is used again, not into one of the pipeline's for every answer.
        message.BufferResponse = false;
        message.ResponseClassifier = ThrottleClassifier.Instance;
        message.Request.Headers.Add("Content-Type", TableTransaction.ContentType);
        message.Request.Content = RequestContent.Create(transaction.Body);
        try
        {
            await _pipeline.SendAsync(message, cancellationToken);
        }
        catch (Exception e)
        {
            // The connection may still hold the body: it is not used again.
            transaction.Abandon();
            var mapped = StorageErrors.Map(e, operation, cancellationToken);
            if (ReferenceEquals(mapped, e))
                throw;
            throw mapped;
        }

        var buffer = ArrayPool<byte>.Shared.Rent(AnswerBytes);
        try
        {
            var length = 0;
            try
            {
                if (message.Response.ContentStream is { } content)
                {
                    int read;
                    while ((read = await content.ReadAsync(buffer.AsMemory(length), cancellationToken)) > 0)
                    {
                        length += read;
                        if (length < buffer.Length)
                            continue;
                        if (length >= MaxAnswerBytes)
                            return (TableAnswer.Malformed(operation), false, null);
                        var larger = ArrayPool<byte>.Shared.Rent(length * 2);
                        buffer.AsSpan(0, length).CopyTo(larger);
                        ArrayPool<byte>.Shared.Return(buffer);
                        buffer = larger;
                    }
                }
            }
            catch (Exception e) when (e is not HibpException && !cancellationToken.IsCancellationRequested)
            {
                if (StorageErrors.Map(e, operation, cancellationToken) is StoreUnavailableException lost)
                    return (lost, true, null);
                throw;
            }

            return Judge(transaction, message.Response.Status, Header("x-ms-error-code"), Header("Retry-After"), buffer.AsSpan(0, length));

            string? Header(string name) => message.Response.Headers.TryGetValue(name, out var value) ? value : null;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    /// <summary>Once, past the pipeline: done, or refused; null: it is the pipeline's to find out what it is.</summary>
    private async Task<(HibpException? Failure, bool Retriable, TimeSpan? RetryAfter)?> TrySubmitDirectAsync(
        TableTransaction transaction, CancellationToken cancellationToken)
    {
        using var timeout = _direct.Timeout(cancellationToken);
        var sentAt = _options.TimeProvider.GetTimestamp();
        try
        {
            using var content = new ReadOnlyMemoryContent(transaction.Body);
            content.Headers.TryAddWithoutValidation("Content-Type", TableTransaction.ContentType);
            using var request = new HttpRequestMessage(HttpMethod.Post, _batch) { Content = content };
            StorageTelemetry.Retries.Add(0);
            using var response = await _direct.SendAsync(request, timeout.Token);
            var status = (int)response.StatusCode;
            StorageTelemetry.Throttled.Add(status is 429 or 503 ? 1 : 0);
            await using var body = await response.Content.ReadAsStreamAsync(timeout.Token);
            using var answer = await DirectRequests.ReadAsync(body, AnswerBytes, timeout.Token);
            var judged = Judge(transaction, status, Header("x-ms-error-code"), Header("Retry-After"), answer.Written.Span);
            return status == (int)HttpStatusCode.Accepted || judged.Failure is StoreThrottledException ? judged : null;

            string? Header(string name) => response.Headers.TryGetValues(name, out var values) ? values.First() : null;
        }
        catch (Exception) when (!cancellationToken.IsCancellationRequested)
        {
            _lost?.Invoke(sentAt);
            // The connection may still hold the body, which the pipeline sends.
            transaction.KeepFromPool();
            return null;
        }
        catch
        {
            transaction.KeepFromPool();
            throw;
        }
    }

    /// <summary>What is to be made of the answer to a transaction.</summary>
    private static (HibpException? Failure, bool Retriable, TimeSpan? RetryAfter) Judge(
        TableTransaction transaction, int status, string? code, string? told, ReadOnlySpan<byte> answer)
    {
        var retryAfter = RetryAfter(told);
        if (status != (int)HttpStatusCode.Accepted)
        {
            // The pipeline has used up its tries on what was worth trying again.
            code ??= ODataError.Parse(answer).Code;
            return ThrottleClassifier.IsThrottled(status, code) ? (Throttled(transaction.Operation, status, code), true, retryAfter)
                : (StorageErrors.FromStatus(transaction.Operation, status, code), false, null);
        }

        var outcome = TransactionAnswer.Parse(answer);
        if (outcome.FailedStatus == 0)
        {
            return outcome.Succeeded == transaction.Count ? (null, false, null)
                : (TableAnswer.Malformed(transaction.Operation), true, null);
        }
        if (outcome.FailedStatus is 429 or 503)
            StorageTelemetry.Throttled.Add(1);
        var described = transaction.Describe(outcome.FailedIndex);
        return ThrottleClassifier.IsThrottled(outcome.FailedStatus, outcome.Code)
            ? (Throttled(described, outcome.FailedStatus, outcome.Code), true, retryAfter)
            : (StorageErrors.FromStatus(described, outcome.FailedStatus, outcome.Code), outcome.FailedStatus is 500 or 502, retryAfter);
    }

    private static TimeSpan? RetryAfter(string? text) =>
        int.TryParse(text, out var seconds) && seconds >= 0 ? TimeSpan.FromSeconds(seconds) : null;

    /// <summary>Doubling, with jitter so that workers which were refused together don't come back together.</summary>
    private TimeSpan Delay(int attempt, TimeSpan? retryAfter)
    {
        if (retryAfter is { } told)
            return told < _options.MaxRetryDelay ? told : _options.MaxRetryDelay;
        var longest = Math.Min(_options.MaxRetryDelay.TotalMilliseconds, _options.RetryDelay.TotalMilliseconds * Math.Pow(2, attempt));
        return TimeSpan.FromMilliseconds(longest * (0.6 + (Random.Shared.NextDouble() * 0.4)));
    }

    /// <summary>The pipeline's own options: nothing is logged, traced or told about.</summary>
    private sealed class TableClientOptions : ClientOptions
    {
        public TableClientOptions(StorageOptions options, HttpPipelineTransport transport)
        {
            Transport = transport;
            Diagnostics.IsLoggingEnabled = false;
            Diagnostics.IsLoggingContentEnabled = false;
            Diagnostics.IsDistributedTracingEnabled = false;
            Diagnostics.IsTelemetryEnabled = false;
            Retry.Mode = RetryMode.Exponential;
            Retry.MaxRetries = options.MaxRetries;
            Retry.Delay = options.RetryDelay;
            Retry.MaxDelay = options.MaxRetryDelay;
            Retry.NetworkTimeout = options.NetworkTimeout;
        }
    }
}
