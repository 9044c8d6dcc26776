using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Lookup;
using HibpIngest.Messages;
using HibpIngest.Passwords;
using HibpIngest.Web;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>What the API reads, of a storage account.</summary>
public static class WebFactory
{
    /// <summary>Somebody waits for each answer: a store that is down is said to be so within seconds.</summary>
    public static readonly StorageOptions Storage = new()
    {
        MaxRetries = 2,
        RetryDelay = TimeSpan.FromMilliseconds(100),
        MaxRetryDelay = TimeSpan.FromSeconds(1),
        NetworkTimeout = TimeSpan.FromSeconds(10),
        // One that was given up would refuse all requests, not only those that wait for it: it is given as long as they may take.
        AppendTimeout = TimeSpan.FromSeconds(30),
    };

    /// <summary>Where another account is asked instead, nothing is tried twice.</summary>
    private static readonly StorageOptions NearestStorage = new() { MaxRetries = 0, NetworkTimeout = TimeSpan.FromSeconds(10) };

    /// <summary>Calls nothing.</summary>
    public static WebStores StoresOf(StorageAccount account, TimeProvider time, ILoggerFactory logs)
    {
        var reads = ReadsOf(account, time, logs);
        return new()
        {
            Catalogue = account.Catalogue,
            Accounts = reads,
            Ranges = reads,
            Layout = reads,
            Keys = account.Keys,
            Passwords = PasswordsOf(account),
            Appends = account.PasswordAppends,
            AppendQueue = account.Queues.Get(QueueNames.PasswordsAppend),
            Prefixes = account.Prefixes,
            AccessLog = account.AccessLog,
        };
    }

    /// <summary>Accounts and ranges by the layout that is read; calls nothing.</summary>
    public static LayoutReads ReadsOf(StorageAccount account, TimeProvider time, ILoggerFactory logs) =>
        new(account.Register, account.StoreAccounts, account.TableReads, time, logs.CreateLogger<LayoutReads>());

    /// <summary>The account that passwords are read from first (HIBP_PASSWORDS_NEAREST); null: there is none. Calls nothing.</summary>
    /// <exception cref="BadInputException">It is no connection.</exception>
    public static StorageAccount? OpenNearest(PasswordOptions options, ILoggerFactory logs) =>
        string.IsNullOrWhiteSpace(options.PasswordsNearest) ? null
        : Open("HIBP_PASSWORDS_NEAREST", options.PasswordsNearest, logs, NearestStorage);

    /// <summary>Opens the account that a setting names.</summary>
    internal static StorageAccount Open(string setting, string connection, ILoggerFactory logs, StorageOptions? options)
    {
        try
        {
            return StorageAccount.Open(connection, logs, options);
        }
        catch (BadInputException e)
        {
            throw new BadInputException($"{setting}: {e.Message}");
        }
    }

    /// <summary>Pwned Passwords of the account; calls nothing.</summary>
    public static PasswordStores PasswordsOf(StorageAccount account) => new(account.PasswordBlobs, account.PasswordTables);
}
