using System.Globalization;
using System.Net;
using Azure.Core;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Requests to the Table service past the client libraries' pipeline, which makes five times as many objects as a read, and
/// takes half as much time again as a write. Tried once: whatever is not simply an answer is left to that pipeline, with its tries
/// and errors.
/// </summary>
/// <param name="http">The connections are the pipeline's.</param>
/// <param name="connection">The account.</param>
/// <param name="credential">Where it is named without a key.</param>
/// <param name="options">How patiently it is asked.</param>
internal sealed class DirectRequests(
    HttpMessageInvoker http, StorageConnection connection, TokenCredential? credential, StorageOptions options)
{
    private readonly ReadToken? _token = credential is null ? null : new ReadToken(credential, options.TimeProvider);

    /// <summary>Ends a request that takes too long; its <see cref="CancellationTokenSource.Token"/> is for all of it.</summary>
    public CancellationTokenSource Timeout(CancellationToken cancellationToken)
    {
        var timeout = cancellationToken.CanBeCanceled
            ? CancellationTokenSource.CreateLinkedTokenSource(cancellationToken) : new CancellationTokenSource();
        timeout.CancelAfter(options.NetworkTimeout);
        return timeout;
    }

    /// <summary>Signs and sends; its answer's body is not read yet.</summary>
    public async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var headers = request.Headers;
        headers.TryAddWithoutValidation("Accept", TableService.NoMetadata);
        headers.TryAddWithoutValidation("x-ms-version", TableService.ServiceVersion);
        headers.TryAddWithoutValidation("DataServiceVersion", "3.0");
        headers.TryAddWithoutValidation("MaxDataServiceVersion", "3.0;NetFx");
        if (connection.Key is not null)
        {
            var date = options.TimeProvider.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
            var type = request.Content is { } content && content.Headers.NonValidated.TryGetValues("Content-Type", out var types)
                ? types.ToString() : "";
            headers.TryAddWithoutValidation("x-ms-date", date);
            headers.TryAddWithoutValidation(
                "Authorization",
                SharedKeyPolicy.Sign(connection.Account, connection.Key, request.Method.Method, type, date, request.RequestUri!));
        }
        else if (_token is not null)
            headers.TryAddWithoutValidation("Authorization", await _token.GetAsync(cancellationToken));
        var response = await http.SendAsync(request, cancellationToken);
        if (response.StatusCode is HttpStatusCode.Unauthorized or HttpStatusCode.Forbidden)
            _token?.Forget(); // it may have been taken back
        return response;
    }

    /// <summary>Reads a body to its end.</summary>
    /// <param name="body">Of an answer.</param>
    /// <param name="usual">Bytes that it has, as a rule.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <exception cref="InvalidDataException">It is longer than anything that a table answers.</exception>
    public static async Task<PooledBytes> ReadAsync(Stream body, int usual, CancellationToken cancellationToken)
    {
        var bytes = new PooledBytes(usual);
        try
        {
            while (await body.ReadAsync(bytes.GetMemory(), cancellationToken) is > 0 and var read)
            {
                bytes.Advance(read);
                if (bytes.Length >= TableService.MaxAnswerBytes)
                    throw new InvalidDataException();
            }
            return bytes;
        }
        catch
        {
            // The connection may still write into it.
            bytes.Abandon();
            throw;
        }
    }
}
