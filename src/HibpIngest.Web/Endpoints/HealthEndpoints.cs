using HibpIngest.Lookup;
using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>Whether the process lives, and whether its stores answer.</summary>
internal sealed class HealthEndpoints
{
    private readonly CachedCheck _stores;

    public HealthEndpoints(CatalogueReader catalogue, IAccountReads accounts, TimeProvider time) => _stores = new CachedCheck(
        async cancellationToken =>
        {
            await catalogue.GetAsync(cancellationToken);
            _ = await accounts.GetMarksAsync("example.com", "ready", 0, cancellationToken);
        }, time);

    /// <summary><c>GET /healthz</c>.</summary>
    public Task ProcessAsync(WebCall call) => HealthAnswer.WriteAsync(call.Response, true);

    /// <summary><c>GET /readyz</c>: 503 while the catalogue has not been read or the account table doesn't answer.</summary>
    public async Task StoresAsync(WebCall call) => await HealthAnswer.WriteAsync(call.Response, await _stores.IsWellAsync());
}
