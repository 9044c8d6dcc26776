using System.Net;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Reads of one entity, which is all that a lookup does, as a request of their own: the client libraries' pipeline makes five
/// times as many objects as the read. Whatever is not simply an answer is left to that pipeline, with its tries and errors.
/// </summary>
internal sealed class PointReads(DirectRequests requests)
{
    private const int MissingBytes = 1_024;

    // An entity of 250 marks has 3 KB.
    private const int EntityBytes = 4 * 1_024;

    /// <summary>Reads one entity.</summary>
    /// <param name="address">The entity's.</param>
    /// <param name="parse">Makes of its JSON what is wanted; an exception leaves it to the pipeline.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <returns>Whether there was an answer, and what it says; nothing where there is no such entity.</returns>
    public async Task<(bool Answered, T? Value)> TryReadAsync<T>(
        Uri address, ReadOnlySpanFunc<T> parse, CancellationToken cancellationToken)
        where T : class
    {
        using var timeout = requests.Timeout(cancellationToken);
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, address);
            using var response = await requests.SendAsync(request, timeout.Token);
            if (response.StatusCode is not (HttpStatusCode.OK or HttpStatusCode.NotFound))
                return (false, null);
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
        var usual = (int)Math.Min(response.Content.Headers.ContentLength + 1 ?? (isThere ? EntityBytes : MissingBytes), 1 << 20);
        await using var body = await response.Content.ReadAsStreamAsync(cancellationToken);
        using var answer = await DirectRequests.ReadAsync(body, usual, cancellationToken);
        if (isThere)
            return (true, parse(answer.Written.Span));
        var code = response.Headers.TryGetValues("x-ms-error-code", out var codes) ? codes.First()
            : ODataError.Parse(answer.Written.Span).Code;
        return (code is "ResourceNotFound" or "EntityNotFound", null);
    }

    /// <summary>Makes something of bytes that are gone afterwards.</summary>
    public delegate T ReadOnlySpanFunc<out T>(ReadOnlySpan<byte> bytes);
}
