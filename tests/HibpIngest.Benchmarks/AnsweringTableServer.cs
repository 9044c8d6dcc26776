using System.Text;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Benchmarks;

/// <summary>
/// A table server that responds to every upsert with success. It can pass on the requests it received, so that they
/// can be sent again by other means.
/// </summary>
internal sealed class AnsweringTableServer : IAsyncDisposable
{
    private static readonly byte[] Changed =
        "--batchresponse_x\r\nContent-Type: multipart/mixed; boundary=changesetresponse_x\r\n\r\n"u8.ToArray();
    private static readonly byte[] Part =
    [
        .. "--changesetresponse_x\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"u8,
        .. "HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\n\r\n\r\n"u8,
    ];
    private static readonly byte[] End = "--changesetresponse_x--\r\n--batchresponse_x--\r\n"u8.ToArray();

    private LocalServer _server = null!;
    private long _requests;

    /// <summary>Writes received; creating a table doesn't count.</summary>
    public long Requests => Interlocked.Read(ref _requests);

    public string Endpoint => _server.Address;

    /// <param name="record">Receives each request, possibly several concurrently.</param>
    public static async Task<AnsweringTableServer> StartAsync(Action<TableRequest>? record = null)
    {
        var server = new AnsweringTableServer();
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
            await AnswerAsync(context, body);
        });
        return server;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private static async Task AnswerAsync(HttpContext context, MemoryStream body)
    {
        if (!context.Request.Path.Value!.EndsWith("$batch", StringComparison.Ordinal))
        {
            context.Response.StatusCode = StatusCodes.Status204NoContent;
            return;
        }
        context.Response.StatusCode = StatusCodes.Status202Accepted;
        context.Response.ContentType = "multipart/mixed; boundary=batchresponse_x";
        var parts = body.GetBuffer().AsSpan(0, (int)body.Length).Count("application/http"u8);
        var answer = new MemoryStream();
        answer.Write(Changed);
        for (var i = 0; i < parts; i++)
            answer.Write(Part);
        answer.Write(End);
        await context.Response.Body.WriteAsync(answer.GetBuffer().AsMemory(0, (int)answer.Length));
    }
}

/// <summary>A request as received.</summary>
internal sealed record TableRequest(
    string Method, string Path, string? ContentType, string? Accept, string? Prefer, string? DataServiceVersion, byte[] Body)
{
    /// <summary>Returns the same request for another server with the same account name.</summary>
    public TableRequest For(string from, string to)
    {
        var text = Encoding.ASCII.GetString(Body).Replace(from, to, StringComparison.Ordinal);
        return this with { Body = Encoding.ASCII.GetBytes(text) };
    }
}
