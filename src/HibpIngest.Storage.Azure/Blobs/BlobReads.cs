using System.Net;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>
/// Reads a blob, or part of one, without Azure.Storage.Blobs, which takes twice the time of the read itself. Tries once, and leaves
/// anything but a plain response to the library, with its retries and errors.
/// </summary>
/// <param name="http">Shares the connections of the library.</param>
internal sealed class BlobReads(
    HttpMessageInvoker http, Uri container, StorageConnection connection, TokenCredential? credential, StorageOptions options)
{
    /// <summary>The largest range whose MD5 the service returns (learn.microsoft.com/rest/api/storageservices/get-blob).</summary>
    private const int MaxMd5Bytes = 4 << 20;

    /// <summary>Supports tokens, and ranges in either header; nothing from later versions is needed.</summary>
    private const string ServiceVersion = "2021-12-02";

    private const string NoteHeader = $"x-ms-meta-{PasswordBlobs.NoteName}";

    private readonly string _container = container.AbsoluteUri.TrimEnd('/');
    private readonly ReadToken? _token = credential is null ? null : new ReadToken(credential, options.TimeProvider);

    /// <param name="name">The blob's name, which needs no escaping.</param>
    /// <param name="part">ETag of the version to read, first byte and length. Null for the whole blob in any version.</param>
    /// <returns>Null if the read failed: the Azure SDK, called instead, reports the reason.</returns>
    public async Task<PasswordBlob?> TryReadAsync(
        string name, (string ETag, long Offset, int Length)? part, CancellationToken cancellationToken)
    {
        using var timeout = cancellationToken.CanBeCanceled
            ? CancellationTokenSource.CreateLinkedTokenSource(cancellationToken) : new CancellationTokenSource();
        timeout.CancelAfter(options.NetworkTimeout);
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri($"{_container}/{name}{connection.Query}"));
            await AddHeadersAsync(request, part, timeout.Token);
            using var response = await http.SendAsync(request, timeout.Token);
            if (response.StatusCode != (part is null ? HttpStatusCode.OK : HttpStatusCode.PartialContent))
            {
                _token?.Forget();
                return null;
            }
            var headers = response.Content.Headers;
            if (response.Headers.ETag is not { } etag || headers.LastModified is not { } lastModified
                || headers.ContentLength is not { } length || (part is not null && length != part.Value.Length))
                return null;
            var bytes = new byte[length];
            await using var body = await response.Content.ReadAsStreamAsync(timeout.Token);
            await body.ReadExactlyAsync(bytes, timeout.Token);
            return new PasswordBlob(etag.ToString(), lastModified, bytes, IsUnchanged: false)
            {
                Md5 = headers.ContentMD5 is { Length: MD5.HashSizeInBytes } digest ? digest : null,
                Note = response.Headers.TryGetValues(NoteHeader, out var notes) ? notes.FirstOrDefault() : null,
            };
        }
        catch (Exception) when (!cancellationToken.IsCancellationRequested)
        {
            return null; // the library finds the reason
        }
    }

    private async ValueTask AddHeadersAsync(
        HttpRequestMessage request, (string ETag, long Offset, int Length)? part, CancellationToken cancellationToken)
    {
        var headers = request.Headers;
        // In the order in which they are signed.
        var ours = new List<(string Name, string Value)>(4)
        {
            ("x-ms-date", options.TimeProvider.GetUtcNow().ToString("R", CultureInfo.InvariantCulture)),
        };
        if (part is var (etag, offset, length))
        {
            headers.TryAddWithoutValidation("If-Match", etag);
            ours.Add(("x-ms-range", string.Create(CultureInfo.InvariantCulture, $"bytes={offset}-{offset + length - 1}")));
            // The service computes the MD5, which the API passes on in a header.
            if (length <= MaxMd5Bytes)
                ours.Add(("x-ms-range-get-content-md5", "true"));
        }
        ours.Add(("x-ms-version", ServiceVersion));
        foreach (var (name, value) in ours)
            headers.TryAddWithoutValidation(name, value);
        if (connection.Key is not null)
            headers.TryAddWithoutValidation("Authorization", Sign(request.RequestUri!, part?.ETag, ours));
        else if (_token is not null)
            headers.TryAddWithoutValidation("Authorization", await _token.GetAsync(cancellationToken));
    }

    // Signs as the blob service requires (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key): the values of eleven
    // headers, of which a read sends only If-Match, then the x-ms- headers, then the path.
    private string Sign(Uri address, string? ifMatch, List<(string Name, string Value)> ours)
    {
        var text = new StringBuilder(512).Append("GET\n\n\n\n\n\n\n\n").Append(ifMatch).Append("\n\n\n\n");
        foreach (var (name, value) in ours)
            text.Append(name).Append(':').Append(value).Append('\n');
        text.Append('/').Append(connection.Account).Append(address.AbsolutePath);
        return connection.Sign(text.ToString());
    }
}
