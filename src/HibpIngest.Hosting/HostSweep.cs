using HibpIngest.Api.AccessLog.RollUp;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Sweeping;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Hosting;

/// <summary>Work that a host with the sweep role does once a minute. Sweeps run concurrently: a slow one delays no other.</summary>
public sealed record HostSweep(string Name, Func<CancellationToken, Task> RunAsync);

public static class HostSweeps
{
    /// <summary>Adds the pipeline's sweep, which first sets up the stores if there is work for it.</summary>
    public static IServiceCollection AddPipelineSweep(this IServiceCollection services) => services.AddSingleton(provider =>
    {
        var (sweep, setup) = (provider.GetRequiredService<Sweep>(), provider.GetRequiredService<StoreSetup>());
        var file = provider.GetRequiredService<IBreachDatabase>() as SqliteBreachDatabase;
        return new HostSweep("sweep", async cancellationToken =>
        {
            // While the pipeline is at rest, nothing else would access the database.
            file?.CheckFile();
            if (!setup.IsDone && !await setup.IsAtRestAsync(cancellationToken))
                await setup.EnsureOnceAsync(cancellationToken);
            await sweep.RunAsync(cancellationToken);
        });
    });

    /// <summary>
    /// Adds the daily deletion of expired requests, in case no command does it, and the checks of domains' proofs: in a few minutes of the
    /// night, so that it wakes a database that pauses once a day.
    /// </summary>
    public static IServiceCollection AddRequestSweep(this IServiceCollection services) => services.AddSingleton(provider => new HostSweep(
        "requests sweep", async cancellationToken =>
        {
            if (provider.GetRequiredService<InstallationKeys>() is not { Commands: not null, Links: not null }
                || provider.GetRequiredService<TimeProvider>().GetUtcNow() is not { Hour: 3, Minute: < 5 })
            {
                return;
            }
            await provider.GetRequiredService<StoreSetup>().EnsureOnceAsync(cancellationToken);
            await provider.GetRequiredService<ISubscriptionRequests>().DeleteExpiredRequestsAsync(cancellationToken);
            await provider.GetRequiredService<ProvenDomains>().CheckAsync(cancellationToken);
            await provider.GetRequiredService<ISignIns>().DeleteExpiredAsync(
                provider.GetRequiredService<TimeProvider>().GetUtcNow(), cancellationToken);
        }));

    public static IServiceCollection AddServingSweeps(this IServiceCollection services, TimeSpan minimumFileAge) => services
        .AddServing<SweepImports>("passwords sweep", (sweep, token) => sweep.RunAsync(minimumFileAge, token))
        .AddServing<SweepAppends>("appends sweep", (sweep, token) => sweep.RunAsync(token))
        .AddServing<PurgeChanges>("cache purge", (purge, token) => purge.RunAsync(token))
        .AddServing<SweepAccess>("access log sweep", (sweep, token) => sweep.RunAsync(token));

    private static IServiceCollection AddServing<T>(
        this IServiceCollection services, string name, Func<T, CancellationToken, Task> run)
        where T : class => services.AddSingleton(provider => new HostSweep(
            name, cancellationToken => provider.GetRequiredService<ServingStores>().RunAsync(
                token => run(provider.GetRequiredService<T>(), token), cancellationToken)));
}
