namespace HibpIngest.Passwords.Replicas;

/// <summary>A storage account that releases are copied to.</summary>
/// <param name="Name">For display: account and host, without secrets.</param>
/// <param name="Releases">The account's releases; a switch there purges no cache.</param>
public sealed record PasswordReplica(string Name, PasswordStores Stores, PasswordReleases Releases);
