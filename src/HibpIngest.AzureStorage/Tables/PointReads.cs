using System.Buffers;
using System.Globalization;
using System.Net;
using Azure.Core;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Reads of one entity, which is all that a lookup does, as a request of their own: the client libraries' pipeline makes five
/// times as many objects as the read. Whatever is not simply an answer is left to that pipeline, with its tries and errors.
/// </summary>
/// <param name="http">The connections are the pipeline's.</param>
/// <param name="connection">The account.</param>
/// <param name="credential">Where it is named without a key.</param>
/// <param name="options">How patiently it is asked.</param>
internal sealed class PointReads(HttpMessageInvoker http, StorageConnection connection, TokenCredential? credential, StorageOptions options)
{
    private const int MissingBytes = 1_024;

    // An entity of 250 marks has 3 KB.
    private const int EntityBytes = 4 * 1_024;

    private static readonly TokenRequestContext Scope = new(["https://storage.azure.com/.default"]);

    // The credential keeps it as well, but takes locks and makes objects to say so.
    private static readonly TimeSpan RenewBefore = TimeSpan.FromMinutes(5);

    private AccessToken _token;

    /// <summary>Reads one entity.</summary>
    /// <param name="address">The entity's.</param>
    /// <param name="parse">Makes of its JSON what is wanted; an exception leaves it to the pipeline.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <returns>Whether there was an answer, and what it says; nothing where there is no such entity.</returns>
    public async Task<(bool Answered, T? Value)> TryReadAsync<T>(
        Uri address, ReadOnlySpanFunc<T> parse, CancellationToken cancellationToken)
        where T : class
    {
        using var timeout = cancellationToken.CanBeCanceled
            ? CancellationTokenSource.CreateLinkedTokenSource(cancellationToken) : new CancellationTokenSource();
        timeout.CancelAfter(options.NetworkTimeout);
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, address);
            await AuthorizeAsync(request, timeout.Token);
            using var response = await http.SendAsync(request, timeout.Token);
            if (response.StatusCode is not (HttpStatusCode.OK or HttpStatusCode.NotFound))
            {
                _token = default; // a 401 may be of a token that was taken back
                return (false, null);
            }
            return await ReadAsync(response, parse, timeout.Token);
        }
        catch (Exception) when (!cancellationToken.IsCancellationRequested)
        {
            return (false, null); // the pipeline finds out what it is
        }
    }

    private static async Task<(bool, T?)> ReadAsync<T>(
        HttpResponseMessage response, ReadOnlySpanFunc<T> parse, CancellationToken cancellationToken)
        where T : class
    {
        var isThere = response.StatusCode == HttpStatusCode.OK;
        var buffer = ArrayPool<byte>.Shared.Rent(
            (int)Math.Min(response.Content.Headers.ContentLength + 1 ?? (isThere ? EntityBytes : MissingBytes), 1 << 20));
        try
        {
            await using var body = await response.Content.ReadAsStreamAsync(cancellationToken);
            var length = 0;
            int read;
            while ((read = await body.ReadAsync(buffer.AsMemory(length), cancellationToken)) > 0)
            {
                length += read;
                if (length < buffer.Length)
                    continue;
                var larger = ArrayPool<byte>.Shared.Rent(length * 2);
                buffer.AsSpan().CopyTo(larger);
                ArrayPool<byte>.Shared.Return(buffer);
                buffer = larger;
            }
            var answer = buffer.AsSpan(0, length);
            if (isThere)
                return (true, parse(answer));
            var code = response.Headers.TryGetValues("x-ms-error-code", out var codes) ? codes.First() : ODataError.Parse(answer).Code;
            return (code is "ResourceNotFound" or "EntityNotFound", null);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private async ValueTask AuthorizeAsync(HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var headers = request.Headers;
        headers.TryAddWithoutValidation("Accept", TableService.NoMetadata);
        headers.TryAddWithoutValidation("x-ms-version", TableService.ServiceVersion);
        headers.TryAddWithoutValidation("DataServiceVersion", "3.0");
        headers.TryAddWithoutValidation("MaxDataServiceVersion", "3.0;NetFx");
        if (connection.Key is not null)
        {
            var date = options.TimeProvider.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
            headers.TryAddWithoutValidation("x-ms-date", date);
            headers.TryAddWithoutValidation(
                "Authorization", SharedKeyPolicy.Sign(connection.Account, connection.Key, "GET", "", date, request.RequestUri!));
        }
        else if (credential is not null)
        {
            if (_token.ExpiresOn - options.TimeProvider.GetUtcNow() < RenewBefore)
                _token = await credential.GetTokenAsync(Scope, cancellationToken);
            headers.TryAddWithoutValidation("Authorization", $"Bearer {_token.Token}");
        }
    }

    /// <summary>Makes something of bytes that are gone afterwards.</summary>
    public delegate T ReadOnlySpanFunc<out T>(ReadOnlySpan<byte> bytes);
}
