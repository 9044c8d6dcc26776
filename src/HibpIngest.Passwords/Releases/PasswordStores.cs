namespace HibpIngest.Passwords.Releases;

public sealed record PasswordStores(IPasswordBlobs Blobs, IPasswordTables Tables);
