using HibpIngest.Storage.Azure.Connections;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Tests.AzureStorage;

/// <summary>Serves one blob on loopback in ranges, counts what is fetched, and lets a test delay responses.</summary>
internal sealed class RangeServer : IAsyncDisposable
{
    private readonly byte[] _content;
    private readonly List<(long From, long Bytes, string? IfMatch)> _fetched = [];
    private LoopbackServer _server = null!;

    private RangeServer(byte[] content) => _content = content;

    public StorageAccount Store { get; private set; } = null!;

    /// <summary>The version of the blob; a request for another one is refused.</summary>
    public string ETag { get; set; } = "\"0x1\"";

    /// <summary>Awaited before each half of a range is sent; receives the range's start and the bytes sent so far.</summary>
    public Func<long, int, CancellationToken, Task> BeforeAsync { get; set; } = (_, _, _) => Task.CompletedTask;

    public IReadOnlyList<(long From, long Bytes, string? IfMatch)> Fetched
    {
        get
        {
            lock (_fetched)
                return [.. _fetched];
        }
    }

    public static async Task<RangeServer> StartAsync(byte[] content)
    {
        var server = new RangeServer(content);
        server._server = await LoopbackServer.StartAsync((context, _, _) => server.AnswerAsync(context));
        server.Store = StorageAccount.Open(
            server._server.ConnectionString, NullLoggerFactory.Instance, new StorageOptions { RetryDelay = TimeSpan.FromMilliseconds(1) });
        return server;
    }

    public Task<Stream> OpenAsync() => Store.Blobs.OpenAsync(new BlobVersion("a.zip", ETag), CancellationToken.None);

    public ValueTask DisposeAsync()
    {
        Store.Dispose();
        return _server.DisposeAsync();
    }

    private async Task AnswerAsync(HttpContext context)
    {
        var headers = context.Response.Headers;
        headers.ETag = ETag;
        headers["x-ms-blob-type"] = "BlockBlob";
        headers.LastModified = "Mon, 05 Oct 2026 00:00:00 GMT";
        headers.AcceptRanges = "bytes";
        if (HttpMethods.IsHead(context.Request.Method))
        {
            context.Response.ContentLength = _content.Length;
            return;
        }

        var ifMatch = context.Request.Headers.IfMatch.FirstOrDefault();
        var requested = context.Request.Headers["x-ms-range"].ToString()["bytes=".Length..].Split('-');
        var from = int.Parse(requested[0], CultureInfo.InvariantCulture);
        var count = int.Parse(requested[1], CultureInfo.InvariantCulture) + 1 - from;
        lock (_fetched)
            _fetched.Add((from, count, ifMatch));
        if (ifMatch is not null && ifMatch != ETag)
        {
            context.Response.StatusCode = StatusCodes.Status412PreconditionFailed;
            headers["x-ms-error-code"] = "ConditionNotMet";
            return;
        }
        await BeforeAsync(from, 0, context.RequestAborted);
        context.Response.StatusCode = StatusCodes.Status206PartialContent;
        context.Response.ContentLength = count;
        headers.ContentRange = string.Create(CultureInfo.InvariantCulture, $"bytes {from}-{from + count - 1}/{_content.Length}");
        await context.Response.Body.WriteAsync(_content.AsMemory(from, count / 2));
        await context.Response.Body.FlushAsync();
        await BeforeAsync(from, count / 2, context.RequestAborted);
        await context.Response.Body.WriteAsync(_content.AsMemory(from + (count / 2), count - (count / 2)));
    }
}
