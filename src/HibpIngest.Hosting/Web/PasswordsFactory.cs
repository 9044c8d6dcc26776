using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Passwords;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>What operators do with Pwned Passwords, of a storage account.</summary>
public static class PasswordsFactory
{
    // One for the process, as its kind is meant to be used.
    private static readonly HttpClient Http = new() { Timeout = TimeSpan.FromSeconds(30) };

    /// <summary>The account's releases; calls nothing.</summary>
    /// <exception cref="BadInputException">HIBP_PURGE_URL is no address.</exception>
    public static PasswordReleases ReleasesOf(StorageAccount account, PasswordOptions options, TimeProvider time, ILoggerFactory logs) =>
        new(WebFactory.PasswordsOf(account), HookOf(options, logs), time);

    /// <summary>Tells caches what is old.</summary>
    /// <exception cref="BadInputException">HIBP_PURGE_URL is no address.</exception>
    internal static PurgeHook HookOf(PasswordOptions options, ILoggerFactory logs) =>
        new(PurgeUrl(options), options.PurgeToken, Http, logs.CreateLogger<PurgeHook>());

    /// <summary>Those of a replica, of whose switches no cache is told: the primary's comes last.</summary>
    internal static PasswordReleases ReleasesOf(StorageAccount account, TimeProvider time, ILoggerFactory logs) =>
        new(WebFactory.PasswordsOf(account), new PurgeHook(null, null, Http, logs.CreateLogger<PurgeHook>()), time);

    private static Uri? PurgeUrl(PasswordOptions options) =>
        string.IsNullOrWhiteSpace(options.PurgeUrl) ? null
        : Uri.TryCreate(options.PurgeUrl, UriKind.Absolute, out var url) && url.Scheme is "http" or "https" ? url
        : throw new BadInputException("HIBP_PURGE_URL is expected to be an address, as https://HOST/PATH");
}
