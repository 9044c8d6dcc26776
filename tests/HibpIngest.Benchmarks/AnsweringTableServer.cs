using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

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

    private readonly WebApplication _app;
    private long _requests;

    private AnsweringTableServer(Action<TableRequest>? keep)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        _app = builder.Build();
        _app.Run(async context =>
        {
            var body = new MemoryStream();
            await context.Request.Body.CopyToAsync(body);
            if (!context.Request.Path.Value!.EndsWith("/Tables", StringComparison.Ordinal))
            {
                Interlocked.Increment(ref _requests);
                keep?.Invoke(new TableRequest(
                    context.Request.Method, context.Request.Path.Value, context.Request.ContentType, context.Request.Headers.Accept,
                    context.Request.Headers["Prefer"], context.Request.Headers["DataServiceVersion"], body.ToArray()));
            }
            await AnswerAsync(context, body);
        });
    }

    /// <summary>Writes received; creating a table doesn't count.</summary>
    public long Requests => Interlocked.Read(ref _requests);

    public string Endpoint { get; private set; } = "";

    /// <param name="keep">Receives each request, possibly several concurrently.</param>
    public static async Task<AnsweringTableServer> StartAsync(Action<TableRequest>? keep = null)
    {
        var server = new AnsweringTableServer(keep);
        await server._app.StartAsync();
        server.Endpoint = server._app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.First();
        return server;
    }

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }

    private static async Task AnswerAsync(HttpContext context, MemoryStream body)
    {
        if (!context.Request.Path.Value!.EndsWith("$batch", StringComparison.Ordinal))
        {
            context.Response.StatusCode = StatusCodes.Status204NoContent;
            return;
        }
        context.Response.StatusCode = StatusCodes.Status202Accepted;
        context.Response.ContentType = "multipart/mixed; boundary=batchresponse_x";
        var parts = Count(body.GetBuffer().AsSpan(0, (int)body.Length), "application/http"u8);
        var answer = new MemoryStream();
        answer.Write(Changed);
        for (var i = 0; i < parts; i++)
            answer.Write(Part);
        answer.Write(End);
        await context.Response.Body.WriteAsync(answer.GetBuffer().AsMemory(0, (int)answer.Length));
    }

    private static int Count(ReadOnlySpan<byte> text, ReadOnlySpan<byte> what)
    {
        var count = 0;
        for (int at; (at = text.IndexOf(what)) >= 0; text = text[(at + what.Length)..])
            count++;
        return count;
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
