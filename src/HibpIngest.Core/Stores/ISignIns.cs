namespace HibpIngest.Stores;

/// <summary>The links by which owners of domains sign in. Errors are those of <see cref="IBreachDatabase"/>.</summary>
public interface ISignIns
{
    const string Table = "hibpgrants";

    Task CreateAsync(CancellationToken cancellationToken);

    Task AddAsync(SignIn signIn, CancellationToken cancellationToken);

    /// <summary>Returns a link's row and deletes it, so that a link works once.</summary>
    /// <param name="secret">Secret in the link.</param>
    /// <returns>Null if there is none, or it was used. It may have expired.</returns>
    Task<SignIn?> TakeAsync(string secret, CancellationToken cancellationToken);

    Task DeleteExpiredAsync(DateTimeOffset now, CancellationToken cancellationToken);
}

/// <param name="Hash">SHA-256 of the secret in the link, in lower-case hex.</param>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record SignIn(string Hash, string Domain, DateTimeOffset ExpiresAt)
{
    /// <summary>Lower-case hex digits of a link's secret.</summary>
    public const int SecretLength = 64;

    public static readonly TimeSpan ValidFor = TimeSpan.FromMinutes(15);

    /// <summary>Makes a link's secret, and its row.</summary>
    public static (string Secret, SignIn Row) Create(string domain, DateTimeOffset now)
    {
        var secret = RandomNumberGenerator.GetHexString(SecretLength, lowercase: true);
        return (secret, new SignIn(HashOf(secret), domain, now + ValidFor));
    }

    public static string HashOf(string secret) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(secret)));
}
