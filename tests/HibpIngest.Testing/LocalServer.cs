using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Testing;

/// <summary>Kestrel alone, on a free port of loopback, with one handler.</summary>
internal sealed class LocalServer : IAsyncDisposable
{
    private readonly WebApplication _app;

    private LocalServer(WebApplication app) => _app = app;

    /// <summary>Its address, without a path.</summary>
    public string Address => _app.Urls.First();

    /// <param name="answer">Answers every request.</param>
    /// <param name="certificate">Null: plain HTTP.</param>
    public static async Task<LocalServer> StartAsync(RequestDelegate answer, X509Certificate2? certificate = null)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        if (certificate is not null)
        {
            builder.WebHost.UseKestrelHttpsConfiguration().ConfigureKestrel(
                server => server.Listen(IPAddress.Loopback, 0, listen => listen.UseHttps(certificate)));
            builder.Services.AddLogging();
        }
        var app = builder.Build();
        app.Run(answer);
        await app.StartAsync();
        return new LocalServer(app);
    }

    public ValueTask DisposeAsync() => _app.DisposeAsync();
}
