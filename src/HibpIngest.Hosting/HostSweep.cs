using HibpIngest.Api.AccessLog.RollUp;
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
        var sqlite = provider.GetRequiredService<IBreachDatabase>() as SqliteBreachDatabase;
        return new HostSweep("sweep", async cancellationToken =>
        {
            // While the pipeline is at rest, nothing else would access the database.
            sqlite?.CheckFile();
            if (!setup.IsDone && !await setup.IsAtRestAsync(cancellationToken))
                await setup.EnsureOnceAsync(cancellationToken);
            await sweep.RunAsync(cancellationToken);
        });
    });

    /// <summary>
    /// Adds the nightly sweep (03:00 to 03:04 UTC): deletes expired subscription requests and sign-ins, and checks domain proofs again.
    /// Commands also delete expired requests, but only when some arrive. It runs only at night so that it wakes a serverless database at
    /// most once a day.
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

    /// <summary>Adds the sweeps of passwords and of the access log, which need no database.</summary>
    public static IServiceCollection AddSweepsWithoutDatabase(this IServiceCollection services, TimeSpan minimumFileAge) => services
        .AddDatabaseFree<SweepImports>("passwords sweep", (sweep, token) => sweep.RunAsync(minimumFileAge, token))
        .AddDatabaseFree<SweepAppends>("appends sweep", (sweep, token) => sweep.RunAsync(token))
        .AddDatabaseFree<PurgeChanges>("cache purge", (purge, token) => purge.RunAsync(token))
        .AddDatabaseFree<SweepAccessLog>("access log sweep", (sweep, token) => sweep.RunAsync(token));

    private static IServiceCollection AddDatabaseFree<T>(
        this IServiceCollection services, string name, Func<T, CancellationToken, Task> run)
        where T : class => services.AddSingleton(provider => new HostSweep(
            name, cancellationToken => provider.GetRequiredService<ServingStores>().RunAsync(
                token => run(provider.GetRequiredService<T>(), token), cancellationToken)));
}
