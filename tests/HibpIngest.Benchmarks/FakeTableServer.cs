using Microsoft.AspNetCore.Http;

namespace HibpIngest.Benchmarks;

/// <summary>
/// A table server that responds to every upsert with success. It can record requests, so that a benchmark can replay
/// them with another client.
/// </summary>
internal sealed class FakeTableServer : IAsyncDisposable
{
    private LocalServer _server = null!;
    private long _requests;

    /// <summary>Number of write requests received, not counting the creation of tables.</summary>
    public long Requests => Interlocked.Read(ref _requests);

    public string Endpoint => _server.Address;

    /// <param name="record">Receives each request, possibly several concurrently.</param>
    public static async Task<FakeTableServer> StartAsync(Action<TableRequest>? record = null)
    {
        var server = new FakeTableServer();
        server._server = await LocalServer.StartAsync(async context =>
        {
            var request = context.Request;
            var body = new MemoryStream();
            await request.Body.CopyToAsync(body);
            if (!request.Path.Value!.EndsWith("/Tables", StringComparison.Ordinal))
            {
                Interlocked.Increment(ref server._requests);
                record?.Invoke(new TableRequest(
                    request.Method, request.Path.Value, request.ContentType, request.Headers.Accept, request.Headers["Prefer"],
                    request.Headers["DataServiceVersion"], body.ToArray()));
            }
            await RespondAsync(context, body);
        });
        return server;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private static async Task RespondAsync(HttpContext context, MemoryStream body)
    {
        if (!context.Request.Path.Value!.EndsWith("$batch", StringComparison.Ordinal))
        {
            context.Response.StatusCode = StatusCodes.Status204NoContent;
            return;
        }
        await AcceptedTransaction.AnswerAsync(context, body.GetBuffer().AsSpan(0, (int)body.Length).Count("application/http"u8));
    }
}

/// <summary>A request as received.</summary>
internal sealed record TableRequest(
    string Method, string Path, string? ContentType, string? Accept, string? Prefer, string? DataServiceVersion, byte[] Body)
{
    /// <summary>Returns the request with the server's address replaced, to replay it against another server.</summary>
    public TableRequest WithServer(string fromAddress, string toAddress)
    {
        var text = Encoding.ASCII.GetString(Body).Replace(fromAddress, toAddress, StringComparison.Ordinal);
        return this with { Body = Encoding.ASCII.GetBytes(text) };
    }
}
