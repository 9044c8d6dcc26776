using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Hosting;

/// <summary>The storage accounts that passwords are replicated to (HIBP_PASSWORDS_REPLICAS).</summary>
public sealed class ReplicaAccounts : IDisposable
{
    private const string Setting = "HIBP_PASSWORDS_REPLICAS";

    private readonly List<StorageAccount> _accounts = [];

    public IReadOnlyList<PasswordReplica> Replicas { get; private set; } = [];

    /// <summary>Opens the accounts; calls nothing.</summary>
    /// <param name="primary">The installation's own account, which can't be a replica.</param>
    /// <param name="storage">Retries and timeouts of the replicas; null: those of the pipeline.</param>
    /// <exception cref="BadInputException">A value is no connection string, or an account is named twice.</exception>
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
                    throw new BadInputException($"{Setting} names {account.DisplayName}, which is the account that is copied from");
            }
            if (opened._accounts.GroupBy(account => account.BlobEndpoint).FirstOrDefault(group => group.Count() > 1) is { } twice)
                throw new BadInputException($"{Setting} names {twice.First().DisplayName} twice");
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
