using System.Runtime.CompilerServices;
using HibpIngest.Passwords.Releases;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Blobs and tables of Pwned Passwords in memory. An import in this process writes them; over HTTP they are served in the storage
/// service's protocol, without its latency.
/// </summary>
internal sealed class InMemoryPasswords : IPasswordBlobs, IPasswordTables
{
    /// <summary>The container's path.</summary>
    public const string BlobRoot = "/b";

    /// <summary>The tables' path.</summary>
    public const string TableRoot = "/t";

    // The service's page size.
    private const int PageRows = 1_000;

    private const string BlobPath = BlobRoot + "/" + IPasswordBlobs.Container + "/";
    private const string LastModified = "Sun, 22 Nov 2026 00:00:00 GMT";

    private static readonly string[] ReadHeaders =
        ["Accept", "Authorization", "DataServiceVersion", "If-Match", "Range", "x-ms-date", "x-ms-range", "x-ms-range-get-content-md5",
            "x-ms-version"];

    private readonly ConcurrentDictionary<string, Blob> _blobs = new();
    private readonly ConcurrentDictionary<(string Name, long Offset, int Length), string> _digests = new();
    private readonly ConcurrentDictionary<(string Table, string Prefix), (byte[][] Pages, IReadOnlyList<PasswordRow> Rows)> _rows = new();
    private List<RecordedRead>? _recorded;

    /// <summary>Records all later HTTP requests.</summary>
    public IReadOnlyList<RecordedRead> Record() => _recorded = [];

    /// <summary>Handles a request of the blob or the table service.</summary>
    public Task AnswerAsync(HttpContext context)
    {
        if (_recorded is { } recorded)
        {
            lock (recorded)
            {
                recorded.Add(new RecordedRead(
                    context.Request.Path + context.Request.QueryString,
                    [.. ReadHeaders.Where(context.Request.Headers.ContainsKey)
                        .Select(name => (name, context.Request.Headers[name].ToString()))]));
            }
        }
        var path = context.Request.Path.Value!;
        if (path.StartsWith(BlobPath, StringComparison.Ordinal) && _blobs.TryGetValue(path[BlobPath.Length..], out var blob))
            return AnswerBlobAsync(context, path[BlobPath.Length..], blob);
        if (path.StartsWith(TableRoot, StringComparison.Ordinal))
            return AnswerRowsAsync(context, path[(TableRoot.Length + 1)..].TrimEnd('(', ')'));
        context.Response.StatusCode = StatusCodes.Status404NotFound;
        context.Response.Headers["x-ms-error-code"] = "BlobNotFound";
        return Task.CompletedTask;
    }

    public Task CreateAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task<PasswordBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken) => Task.FromResult(
        _blobs.TryGetValue(name, out var blob)
            ? new PasswordBlob(blob.ETag, default, knownETag == blob.ETag ? default : blob.Bytes, knownETag == blob.ETag) : null);

    public Task<PasswordBlob?> ReadPartAsync(
        string name, string etag, long offset, int length, CancellationToken cancellationToken) => Task.FromResult(
        _blobs.TryGetValue(name, out var blob) && blob.ETag == etag
            ? new PasswordBlob(etag, default, blob.Bytes.AsMemory((int)offset, length), IsUnchanged: false) : null);

    public Task<PasswordBlobVersion?> FindAsync(string name, CancellationToken cancellationToken) => Task.FromResult(
        _blobs.TryGetValue(name, out var blob) ? new PasswordBlobVersion(blob.ETag, blob.Bytes.Length) : null);

    public Task<string?> WriteAsync(string name, PasswordContent content, string? replaces, CancellationToken cancellationToken)
    {
        var blob = Blob.Of(content.Bytes.ToArray());
        _blobs[name] = blob;
        return Task.FromResult<string?>(blob.ETag);
    }

    public async Task<string?> UploadAsync(string name, Stream content, string? replaces, CancellationToken cancellationToken)
    {
        var bytes = new byte[content.Length];
        await content.ReadExactlyAsync(bytes, cancellationToken);
        return (_blobs[name] = Blob.Of(bytes)).ETag;
    }

    public Task<int> AppendAsync(string name, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public Task<ReadOnlyMemory<byte>?> ReadFromAsync(string name, long offset, int limit, CancellationToken cancellationToken) =>
        Task.FromResult<ReadOnlyMemory<byte>?>(null);

    public async IAsyncEnumerable<string> ListAsync(string prefix, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await Task.CompletedTask;
        foreach (var name in _blobs.Keys.Where(name => name.StartsWith(prefix, StringComparison.Ordinal)).Order(StringComparer.Ordinal))
            yield return name;
    }

    public async IAsyncEnumerable<string> ListFoldersAsync(string prefix, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var last = "";
        await foreach (var name in ListAsync(prefix, cancellationToken))
        {
            var folder = name[prefix.Length..].Split('/')[0];
            if (folder != last)
                yield return last = folder;
        }
    }

    public Task DeleteAsync(string name, CancellationToken cancellationToken) => throw new NotSupportedException();

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) => throw new NotSupportedException();

    Task<bool> IPasswordTables.CreateAsync(string table, CancellationToken cancellationToken) => Task.FromResult(true);

    Task<IReadOnlyList<PasswordRow>> IPasswordTables.ReadAsync(string table, string prefix, CancellationToken cancellationToken) =>
        Task.FromResult(_rows[(table, prefix)].Rows);

    private static string Json(PasswordRow row) =>
        $$"""{"RowKey":"{{row.Suffix}}","count@odata.type":"Edm.Int64","count":"{{row.Count}}"}""";

    public Task WriteAsync(string table, string prefix, IReadOnlyList<PasswordRow> rows, CancellationToken cancellationToken)
    {
        var pages = rows.Chunk(PageRows).Select(
            page => Encoding.ASCII.GetBytes($$"""{"value":[{{string.Join(',', page.Select(Json))}}]}"""));
        _rows[(table, prefix)] = ([.. pages], rows);
        return Task.CompletedTask;
    }

    public Task DropAsync(string table, CancellationToken cancellationToken) => throw new NotSupportedException();

    private async Task AnswerBlobAsync(HttpContext context, string name, Blob blob)
    {
        var (request, response) = (context.Request, context.Response);
        var headers = response.Headers;
        (headers.ETag, headers.LastModified) = (blob.ETag, LastModified);
        (headers["x-ms-version"], headers["x-ms-blob-type"]) = ("2023-11-03", "BlockBlob");
        if (request.Headers.IfMatch.Count > 0 && request.Headers.IfMatch != blob.ETag)
        {
            response.StatusCode = StatusCodes.Status412PreconditionFailed;
            headers["x-ms-error-code"] = "ConditionNotMet";
            return;
        }
        if (request.Headers.IfNoneMatch == blob.ETag)
        {
            response.StatusCode = StatusCodes.Status304NotModified;
            return;
        }
        var (bytes, md5) = (blob.Bytes.AsMemory(), (string?)blob.Md5);
        var range = request.Headers["x-ms-range"].FirstOrDefault() ?? request.Headers.Range.FirstOrDefault();
        if (range is not null)
        {
            var ends = range["bytes=".Length..].Split('-');
            var first = long.Parse(ends[0]);
            var last = long.Parse(ends[1]);
            bytes = bytes.Slice((int)first, (int)(last - first) + 1);
            md5 = request.Headers["x-ms-range-get-content-md5"] == "true"
                ? _digests.GetOrAdd((name, first, bytes.Length), static (_, part) => Digest(part.Span), bytes) : null;
            response.StatusCode = StatusCodes.Status206PartialContent;
            headers.ContentRange = $"bytes {first}-{last}/{blob.Bytes.Length}";
        }
        if (md5 is not null)
            headers.ContentMD5 = md5;
        response.ContentType = "application/octet-stream";
        response.ContentLength = bytes.Length;
        await response.Body.WriteAsync(bytes);
    }

    private async Task AnswerRowsAsync(HttpContext context, string table)
    {
        var query = context.Request.Query;
        var pages = _rows[(table, query["$filter"].ToString().Split('\'')[1])].Pages;
        var page = query.TryGetValue("NextRowKey", out var next) ? int.Parse(next.ToString()) : 0;
        if (page + 1 < pages.Length)
        {
            context.Response.Headers["x-ms-continuation-NextPartitionKey"] = "1";
            context.Response.Headers["x-ms-continuation-NextRowKey"] = (page + 1).ToString();
        }
        context.Response.ContentType = "application/json;odata=nometadata;streaming=true;charset=utf-8";
        context.Response.ContentLength = pages[page].Length;
        await context.Response.Body.WriteAsync(pages[page]);
    }

    private static string Digest(ReadOnlySpan<byte> bytes)
    {
#pragma warning disable CA5351 // Content-MD5 is MD5
        return Convert.ToBase64String(MD5.HashData(bytes));
#pragma warning restore CA5351
    }

    private sealed record Blob(byte[] Bytes, string ETag, string Md5)
    {
        public static Blob Of(byte[] bytes)
        {
            var md5 = Digest(bytes);
            return new Blob(bytes, $"\"0x{Convert.ToHexString(Convert.FromBase64String(md5))[..16]}\"", md5);
        }
    }

    /// <summary>A recorded request.</summary>
    /// <param name="Address">Path and query.</param>
    /// <param name="Headers">The headers that the service would read.</param>
    public sealed record RecordedRead(string Address, IReadOnlyList<(string Name, string Value)> Headers);
}
