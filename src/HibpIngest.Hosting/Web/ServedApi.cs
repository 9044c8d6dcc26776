using HibpIngest.AzureStorage;
using HibpIngest.Passwords;
using HibpIngest.Web;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>The API as every host serves it: what it holds in memory is kept fresh until it is disposed of.</summary>
public sealed class ServedApi : IAsyncDisposable
{
    private readonly WebApi _api;
    private readonly string _address;
    private readonly StorageAccount? _nearest;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _refreshing;

    /// <param name="stores">What it reads.</param>
    /// <param name="options">How it answers.</param>
    /// <param name="passwords">How it serves Pwned Passwords.</param>
    /// <param name="isOpen">Nobody needs a key.</param>
    /// <param name="address">Where people reach it (HIBP_WEB_URL).</param>
    /// <param name="isAllDurable">Every request is logged before it is answered.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    public ServedApi(
        WebStores stores, WebOptions options, PasswordOptions passwords, bool isOpen, string address, bool isAllDurable,
        TimeProvider time, ILoggerFactory logs)
    {
        _address = address;
        _nearest = WebFactory.OpenNearest(passwords, logs);
        if (_nearest is not null)
            stores = stores with { NearestPasswords = WebFactory.PasswordsOf(_nearest) };
        _api = new WebApi(
            stores, options, passwords, isOpen, address.StartsWith("https:", StringComparison.OrdinalIgnoreCase), isAllDurable, time,
            logs);
        _refreshing = Task.WhenAll(
            Task.Run(() => _api.Catalogue.RunAsync(_stop.Token)), Task.Run(() => stores.Layout.RunAsync(_stop.Token)),
            Task.Run(() => _api.Passwords.RunAsync(_stop.Token)));
    }

    /// <summary>What it needs of a server, before that is built.</summary>
    public void AddServices(IServiceCollection services) => _api.AddServices(services, _address);

    /// <summary>Maps every address.</summary>
    public void Map(WebApplication app) => _api.Map(app);

    /// <summary>To be called when nothing is answered any more.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        try
        {
            await _refreshing;
        }
        finally
        {
            // Whatever became of the others: what is to be logged is written.
            await _api.DisposeAsync();
            _nearest?.Dispose();
            _stop.Dispose();
        }
    }
}
