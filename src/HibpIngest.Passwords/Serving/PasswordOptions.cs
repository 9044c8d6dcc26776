using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Passwords.Serving;

/// <summary>How Pwned Passwords are served; read from environment variables (docs/settings.md).</summary>
public sealed class PasswordOptions
{
    /// <summary>The max-age of 31 days in seconds, used if caches are purged after changes (HIBP_PURGE_URL).</summary>
    public const int PurgedMaxAge = 2_678_400;

    /// <summary>The max-age in seconds otherwise: a change is visible within the hour.</summary>
    public const int UnpurgedMaxAge = 3_600;

    /// <summary>The back end that this process reads from; off: it serves no passwords. If null, the one that was switched to.</summary>
    public PasswordPin? Passwords { get; set; }

    /// <summary>Max-age of responses in seconds; if null, <see cref="PurgedMaxAge"/> or <see cref="UnpurgedMaxAge"/>.</summary>
    [Range(0, PurgedMaxAge)]
    [ConfigurationKeyName("PASSWORDS_MAXAGE")]
    public int? PasswordsMaxAge { get; set; }

    /// <summary>Megabytes of memory for recently requested ranges; 0: none. All of SHA-1 is about 43,000.</summary>
    [Range(0, 1_000_000)]
    [ConfigurationKeyName("PASSWORDS_CACHE")]
    public int PasswordsCache { get; set; } = 256;

    /// <summary>The URL that purges caches after changes; if null, no cache is purged.</summary>
    [ConfigurationKeyName("PURGE_URL")]
    public string? PurgeUrl { get; set; }

    /// <summary>The token sent to it as <c>Authorization: Bearer</c>: a secret.</summary>
    [ConfigurationKeyName("PURGE_TOKEN")]
    public string? PurgeToken { get; set; }

    /// <summary>
    /// Storage accounts that releases are copied to and switched in: names, blob endpoints or connection strings, separated by white space;
    /// null: none. May hold secrets.
    /// </summary>
    [ConfigurationKeyName("PASSWORDS_REPLICAS")]
    public string? PasswordsReplicas { get; set; }

    /// <summary>One of the replicas, which this process reads first; if null, only its own account is read. May hold a secret.</summary>
    [ConfigurationKeyName("PASSWORDS_NEAREST")]
    public string? PasswordsNearest { get; set; }

    /// <summary>The wait before the installation's own account is read too: many times the duration of a read within a region.</summary>
    [Range(typeof(TimeSpan), "00:00:00.0100000", "00:01:00")]
    [ConfigurationKeyName("PASSWORDS_NEAREST_TIMEOUT")]
    public TimeSpan PasswordsNearestTimeout { get; set; } = TimeSpan.FromSeconds(1);

    public IReadOnlyList<string> ReplicaConnections() =>
        PasswordsReplicas?.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries) ?? [];

    public int MaxAge() => PasswordsMaxAge ?? (string.IsNullOrWhiteSpace(PurgeUrl) ? UnpurgedMaxAge : PurgedMaxAge);
}

/// <summary>The back ends that a process can be pinned to.</summary>
public enum PasswordPin
{
    /// <summary>The process serves no passwords.</summary>
    Off = -1,
    Table = PasswordBackend.Table,
    Blob = PasswordBackend.Blob,
    Pack = PasswordBackend.Pack,
}
