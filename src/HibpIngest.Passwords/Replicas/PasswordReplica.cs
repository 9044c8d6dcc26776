namespace HibpIngest.Passwords;

/// <summary>A storage account that releases are copied to.</summary>
/// <param name="Name">For people: account and host, nothing secret.</param>
/// <param name="Releases">Which there are; tells no cache of a switch.</param>
public sealed record PasswordReplica(string Name, PasswordStores Stores, PasswordReleases Releases);
