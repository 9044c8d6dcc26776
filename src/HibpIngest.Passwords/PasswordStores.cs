using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>Where Pwned Passwords are kept.</summary>
public sealed record PasswordStores(IPasswordBlobs Blobs, IPasswordTables Tables);
