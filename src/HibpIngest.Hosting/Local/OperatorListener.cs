using System.Net;
using HibpIngest.Errors;
using HibpIngest.Hosting.Web;
using HibpIngest.Stores;
using HibpIngest.Web;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Hosting.Local;

/// <summary>
/// Says how this process is: <c>/healthz</c> (it lives), <c>/readyz</c> (its storage account answers; the database is not
/// asked, which a probe would keep awake). Answers whoever asks directly on this machine, and nobody through a proxy.
/// </summary>
public sealed class OperatorListener : IAsyncDisposable
{
    private readonly WebApplication _app;

    private OperatorListener(WebApplication app) => _app = app;

    /// <summary>Starts it; it answers when this returns.</summary>
    /// <exception cref="BadInputException">The address is none of loopback.</exception>
    /// <exception cref="NotPossibleException">It is taken.</exception>
    public static async Task<OperatorListener> StartAsync(
        string url, IStoreIds register, TimeProvider time, CancellationToken cancellationToken)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var address) || address.Scheme != Uri.UriSchemeHttp || !address.IsLoopback)
            throw new BadInputException($"'{url}' is no address for operators: expected http://127.0.0.1:PORT");
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Services.AddRoutingCore();
        builder.WebHost.UseKestrelCore().ConfigureKestrel(server =>
        {
            WebServer.Limit(server);
            server.Listen(IPAddress.Loopback, address.Port);
        });
        var app = builder.Build();
        var stores = new CachedCheck(token => register.GetIdentityAsync(token), time);
        app.Use(next => context =>
        {
            if (LocalRequests.IsDirect(context.Request))
                return next(context);
            context.Response.StatusCode = StatusCodes.Status403Forbidden;
            return Task.CompletedTask;
        });
        app.UseRouting();
        app.MapGet("/healthz", context => HealthAnswer.WriteAsync(context.Response, true));
        app.MapGet("/readyz", async context => await HealthAnswer.WriteAsync(context.Response, await stores.IsWellAsync()));
        try
        {
            await app.StartAsync(cancellationToken);
            return new OperatorListener(app);
        }
        catch (Exception e)
        {
            await app.DisposeAsync();
            if (e is IOException or AddressInUseException)
                throw new NotPossibleException(
                    $"{url} can't be listened on: another program does already; name a free address by --listen");
            throw;
        }
    }

    /// <summary>Stops listening.</summary>
    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }
}
