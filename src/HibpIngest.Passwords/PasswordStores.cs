using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>Where Pwned Passwords are kept.</summary>
/// <param name="Blobs">The container.</param>
/// <param name="Tables">The tables.</param>
public sealed record PasswordStores(IPasswordBlobs Blobs, IPasswordTables Tables);
