using HibpIngest.AzureStorage;
using HibpIngest.Web;

namespace HibpIngest.Hosting.Web;

/// <summary>What the API reads, of a storage account.</summary>
public static class WebFactory
{
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
