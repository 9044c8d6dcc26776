using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>Kestrel alone, on a free port of loopback, with one handler.</summary>
internal sealed class LocalServer : IAsyncDisposable
{
    private readonly WebApplication _app;

    private LocalServer(WebApplication app) => _app = app;

    /// <summary>Its address, without a path.</summary>
    public string Address => _app.Urls.First();

    public static async Task<LocalServer> StartAsync(RequestDelegate answer)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        app.Run(answer);
        await app.StartAsync();
        return new LocalServer(app);
    }

    public ValueTask DisposeAsync() => _app.DisposeAsync();
}
