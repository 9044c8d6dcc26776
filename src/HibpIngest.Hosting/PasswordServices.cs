using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace HibpIngest.Hosting;

public static class PasswordServices
{
    internal static readonly HttpClient Http =
        new(new SocketsHttpHandler { PooledConnectionLifetime = TimeSpan.FromMinutes(5) }) { Timeout = TimeSpan.FromSeconds(30) };

    /// <summary>The caller adds the storage account, the options, the clock and the logs. Replicas are opened on first use.</summary>
    /// <param name="replicaStorage">Retries and timeouts of the replicas' accounts; if null, those of the pipeline.</param>
    public static IServiceCollection AddHibpPasswords(this IServiceCollection services, StorageOptions? replicaStorage = null)
    {
        services.TryAddSingleton<PasswordStores>();
        return services
            .AddSingleton(provider => OpenHook(
                provider.GetRequiredService<IOptions<PasswordOptions>>().Value, provider.GetRequiredService<ILogger<PurgeHook>>()))
            .AddSingleton<PasswordReleases>()
            .AddSingleton(provider => ReplicaAccounts.Open(
                provider.GetRequiredService<StorageAccount>(), provider.GetRequiredService<IOptions<PasswordOptions>>().Value,
                provider.GetRequiredService<TimeProvider>(), provider.GetRequiredService<ILoggerFactory>(), replicaStorage))
            .AddSingleton(provider => new ReplicatedReleases(
                provider.GetRequiredService<PasswordReleases>(), provider.GetRequiredService<ReplicaAccounts>().Replicas))
            .AddSingleton<ImportPlans>().AddSingleton<ImportMessages>().AddSingleton<CompleteImport>()
            .AddSingleton<PlanImport>().AddSingleton<ImportGroup>().AddSingleton<SweepImports>()
            .AddSingleton<AppendPasswords>().AddSingleton<SweepAppends>()
            .AddSingleton(provider => new PurgeChanges(
                provider.GetRequiredService<PasswordStores>(), provider.GetRequiredService<PurgeHook>(),
                provider.GetRequiredService<IOptions<SiteOptions>>().Value.WebUrl))
            .AddTransient<ImportPasswords>().AddTransient<ExportPasswords>().AddTransient<RepackPasswords>()
            .AddTransient<ReplicatePasswords>().AddTransient<AppendReport>();
    }

    private static PurgeHook OpenHook(PasswordOptions options, ILogger<PurgeHook> log) => new(
        string.IsNullOrWhiteSpace(options.PurgeUrl) ? null
        : Uri.TryCreate(options.PurgeUrl, UriKind.Absolute, out var url) && url.Scheme is "http" or "https" ? url
        : throw new BadInputException("HIBP_PURGE_URL: expected an http or https URL, such as https://HOST/PATH"),
        options.PurgeToken, Http, log);
}

/// <summary>The storage accounts that passwords are replicated to (HIBP_PASSWORDS_REPLICAS).</summary>
public sealed class ReplicaAccounts : IDisposable
{
    private const string Setting = "HIBP_PASSWORDS_REPLICAS";

    private readonly List<StorageAccount> _accounts = [];

    public IReadOnlyList<PasswordReplica> Replicas { get; private set; } = [];

    /// <summary>Opens the accounts; calls nothing.</summary>
    /// <param name="primary">The installation's own account, which can't be a replica.</param>
    /// <param name="storage">Retries and timeouts of the replicas; if null, those of the pipeline.</param>
    public static ReplicaAccounts Open(
        StorageAccount primary, PasswordOptions options, TimeProvider time, ILoggerFactory logs, StorageOptions? storage = null)
    {
        var opened = new ReplicaAccounts();
        try
        {
            foreach (var connection in options.ReplicaConnections())
            {
                StorageAccount.Check(connection, Setting);
                var account = StorageAccount.Open(connection, logs, storage);
                opened._accounts.Add(account);
                if (account.BlobEndpoint == primary.BlobEndpoint)
                    throw new BadInputException($"{Setting} lists {account.DisplayName}, the storage account to copy from; remove it");
            }
            if (opened._accounts.GroupBy(account => account.BlobEndpoint).FirstOrDefault(group => group.Count() > 1) is { } twice)
                throw new BadInputException($"{Setting}: storage account {twice.First().DisplayName} is listed twice; remove one");
        }
        catch
        {
            opened.Dispose();
            throw;
        }
        // Replicas don't purge: caches are purged once, after the primary's switch.
        var purge = new PurgeHook(null, null, PasswordServices.Http, logs.CreateLogger<PurgeHook>());
        opened.Replicas = [.. opened._accounts.Select(account =>
        {
            var stores = new PasswordStores(account.PasswordBlobs, account.PasswordTables);
            return new PasswordReplica(account.DisplayName, stores, new PasswordReleases(stores, purge, time));
        })];
        return opened;
    }

    public void Dispose()
    {
        foreach (var account in _accounts)
            account.Dispose();
    }
}
