using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Benchmarks;

/// <summary>A callback client's server that accepts each call at once.</summary>
internal sealed class AnsweringReceiver : IAsyncDisposable
{
    private readonly WebApplication _app;
    private long _calls;

    private AnsweringReceiver()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        _app = builder.Build();
        _app.Run(context =>
        {
            Interlocked.Increment(ref _calls);
            context.Response.StatusCode = StatusCodes.Status204NoContent;
            return Task.CompletedTask;
        });
    }

    /// <summary>Calls received.</summary>
    public long Calls => Interlocked.Read(ref _calls);

    public string Url { get; private set; } = "";

    public static async Task<AnsweringReceiver> StartAsync()
    {
        var server = new AnsweringReceiver();
        await server._app.StartAsync();
        server.Url = server._app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.First();
        return server;
    }

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }
}
