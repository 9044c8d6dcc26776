using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Passwords;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>The storage accounts that passwords are copied to (HIBP_PASSWORDS_REPLICAS), open.</summary>
public sealed class ReplicaAccounts : IDisposable
{
    private const string Setting = "HIBP_PASSWORDS_REPLICAS";

    private readonly List<StorageAccount> _accounts = [];

    private ReplicaAccounts()
    {
    }

    /// <summary>As those who copy and switch take them.</summary>
    public IReadOnlyList<PasswordReplica> Replicas { get; private set; } = [];

    /// <summary>Opens them; calls nothing.</summary>
    /// <param name="primary">The installation's own, which is none of them.</param>
    /// <param name="options">Names them.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    /// <param name="storage">How patiently they are asked; null: as the pipeline does.</param>
    /// <exception cref="BadInputException">One of them is no connection, or one account is named twice.</exception>
    public static ReplicaAccounts Open(
        StorageAccount primary, PasswordOptions options, TimeProvider time, ILoggerFactory logs, StorageOptions? storage = null)
    {
        var opened = new ReplicaAccounts();
        try
        {
            foreach (var connection in options.ReplicaConnections())
            {
                var account = WebFactory.Open(Setting, connection, logs, storage);
                opened._accounts.Add(account);
                if (account.BlobEndpoint == primary.BlobEndpoint)
                    throw new BadInputException($"{Setting} names {account.DisplayName}, which is the account that is copied from");
            }
            if (opened._accounts.GroupBy(account => account.BlobEndpoint).FirstOrDefault(same => same.Count() > 1) is { } twice)
                throw new BadInputException($"{Setting} names {twice.First().DisplayName} twice");
        }
        catch
        {
            opened.Dispose();
            throw;
        }
        opened.Replicas = [.. opened._accounts.Select(account => new PasswordReplica(
            account.DisplayName, WebFactory.PasswordsOf(account), PasswordsFactory.ReleasesOf(account, time, logs)))];
        return opened;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        foreach (var account in _accounts)
            account.Dispose();
    }
}
