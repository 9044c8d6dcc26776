using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Testing;

/// <summary>Kestrel alone, on a free port of loopback, with one handler.</summary>
internal class LocalServer : IAsyncDisposable
{
    private readonly WebApplication _app;

    /// <param name="answer">Answers every request; null: <see cref="AnswerAsync"/> does.</param>
    /// <param name="certificate">Null: plain HTTP.</param>
    protected LocalServer(RequestDelegate? answer = null, X509Certificate2? certificate = null)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        if (certificate is not null)
        {
            builder.WebHost.UseKestrelHttpsConfiguration().ConfigureKestrel(
                server => server.Listen(IPAddress.Loopback, 0, listen => listen.UseHttps(certificate)));
            builder.Services.AddLogging();
        }
        _app = builder.Build();
        _app.Run(answer ?? AnswerAsync);
    }

    /// <summary>Its address, without a path.</summary>
    public string Address => _app.Urls.First();

    public static Task<LocalServer> StartAsync(RequestDelegate answer, X509Certificate2? certificate = null) =>
        StartAsync(new LocalServer(answer, certificate));

    public virtual ValueTask DisposeAsync() => _app.DisposeAsync();

    protected static async Task<T> StartAsync<T>(T server)
        where T : LocalServer
    {
        await server._app.StartAsync();
        return server;
    }

    protected virtual Task AnswerAsync(HttpContext context) => Task.CompletedTask;
}
