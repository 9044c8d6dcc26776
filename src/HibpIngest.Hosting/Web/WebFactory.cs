using HibpIngest.AzureStorage;
using HibpIngest.Web;

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
    };

    /// <summary>Calls nothing.</summary>
    public static WebStores StoresOf(StorageAccount account) => new()
    {
        Catalogue = account.Catalogue,
        Accounts = account.Accounts,
        Layout = account.Register,
        Ranges = account.Ranges,
        Keys = account.Keys,
    };
}
