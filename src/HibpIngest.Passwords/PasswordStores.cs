using HibpIngest.Stores;

namespace HibpIngest.Passwords;

public sealed record PasswordStores(IPasswordBlobs Blobs, IPasswordTables Tables);
