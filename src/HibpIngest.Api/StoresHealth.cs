using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace HibpIngest.Api;

internal sealed class StoresHealth(CatalogueReader catalogue, IAccountReads accounts, TimeProvider time) : IHealthCheck
{
    private readonly CachedCheck _stores = new(
        async cancellationToken =>
        {
            await catalogue.GetAsync(cancellationToken);
            _ = await accounts.GetMarksAsync(new Account("ready", "example.com"), 0, cancellationToken);
        }, time);

    public async Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default) =>
        await _stores.IsWellAsync() ? HealthCheckResult.Healthy() : HealthCheckResult.Unhealthy();
}
