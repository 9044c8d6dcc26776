using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Passwords;

/// <summary>How Pwned Passwords are served; read from environment variables (docs/settings.md).</summary>
public sealed class PasswordOptions
{
    /// <summary>While everybody who may hold an answer is told of a change (HIBP_PURGE_URL), one holds for 31 days.</summary>
    public const int PurgedMaxAge = 2_678_400;

    /// <summary>Else a change is seen within the hour.</summary>
    public const int UnpurgedMaxAge = 3_600;

    /// <summary>
    /// The back end that this process reads from, whatever is served elsewhere; off: it serves none. Null: the one that was
    /// switched to (HIBP_PASSWORDS).
    /// </summary>
    public PasswordPin? Passwords { get; set; }

    /// <summary>
    /// Seconds for which caches may hold an answer; null: <see cref="PurgedMaxAge"/> if they are purged after changes, else
    /// <see cref="UnpurgedMaxAge"/>.
    /// </summary>
    [Range(0, PurgedMaxAge)]
    [ConfigurationKeyName("PASSWORDS_MAXAGE")]
    public int? PasswordsMaxAge { get; set; }

    /// <summary>
    /// Megabytes of memory for ranges that were asked for lately; 0: none. The whole of SHA-1 is some 43,000.
    /// </summary>
    [Range(0, 1_000_000)]
    [ConfigurationKeyName("PASSWORDS_CACHE")]
    public int PasswordsCache { get; set; } = 256;

    /// <summary>The address that purges caches after changes; null: no cache is purged.</summary>
    [ConfigurationKeyName("PURGE_URL")]
    public string? PurgeUrl { get; set; }

    /// <summary>What they ask for in return, as <c>Authorization: Bearer</c>: a secret.</summary>
    [ConfigurationKeyName("PURGE_TOKEN")]
    public string? PurgeToken { get; set; }

    /// <summary>
    /// Storage accounts that releases are copied to and switched in: an account's name, blob endpoint or connection string each, with
    /// white space between, which none of them holds; null: none. May hold secrets.
    /// </summary>
    [ConfigurationKeyName("PASSWORDS_REPLICAS")]
    public string? PasswordsReplicas { get; set; }

    /// <summary>
    /// The storage account that this process reads passwords from first, one of the replicas; null: the installation's own, alone. May
    /// hold a secret.
    /// </summary>
    [ConfigurationKeyName("PASSWORDS_NEAREST")]
    public string? PasswordsNearest { get; set; }

    /// <summary>
    /// How long the nearest account is waited for before the installation's own is asked too: many times what a read takes within a
    /// region.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00.0100000", "00:01:00")]
    [ConfigurationKeyName("PASSWORDS_NEAREST_TIMEOUT")]
    public TimeSpan PasswordsNearestTimeout { get; set; } = TimeSpan.FromSeconds(1);

    public IReadOnlyList<string> ReplicaConnections() =>
        PasswordsReplicas?.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries) ?? [];

    public int MaxAge() => PasswordsMaxAge ?? (string.IsNullOrWhiteSpace(PurgeUrl) ? UnpurgedMaxAge : PurgedMaxAge);
}

/// <summary>What a process may be told to read from.</summary>
public enum PasswordPin
{
    /// <summary>Nothing: it serves no passwords.</summary>
    Off = -1,

    Table = PasswordBackend.Table,

    Blob = PasswordBackend.Blob,

    Pack = PasswordBackend.Pack,
}
