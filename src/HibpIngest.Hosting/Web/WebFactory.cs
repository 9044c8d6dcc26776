using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Passwords;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>Opens further storage accounts that settings name.</summary>
public static class WebFactory
{
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
