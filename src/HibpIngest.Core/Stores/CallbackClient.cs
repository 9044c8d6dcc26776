namespace HibpIngest.Stores;

/// <summary>A client that watches prefixes of hashes and is called when a breach holds accounts under them.</summary>
public sealed record CallbackClient
{
    public const int DefaultCap = 4;
    public const int MaxCap = 256;

    /// <summary>Default requests per minute of the client's key, per API instance: as in Have I Been Pwned's plan Pro 1.</summary>
    public const int DefaultRpm = 1_000;

    /// <summary>Timeout of a call, from resolving the address to the end of the response.</summary>
    public static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(10);

    /// <summary>Never reused; identifies the client for its key, its bitmap, logs and metrics.</summary>
    public required int Number { get; init; }

    /// <summary>Name of the owner; unique.</summary>
    public required string Name { get; init; }
    public required string Url { get; init; }
    public bool IsSensitive { get; init; }

    /// <summary>Maximum number of concurrent calls to the client, across all processes.</summary>
    public int Cap { get; init; } = DefaultCap;
    public bool IsPaused { get; init; }

    /// <summary>Bearer token for calls, encrypted under HIBP_SECRET_KEY.</summary>
    public required byte[] SealedSecret { get; init; }

    /// <summary><see cref="ApiKey.Hash"/> of its key; empty if it has none yet.</summary>
    public string KeyHash { get; init; } = "";
    public DateTimeOffset CreatedAt { get; init; }

    /// <summary>Returns whether the client is called for a breach with these flags. No client is called for a retired breach.</summary>
    public bool IsCalledOf(BreachFlags flags) =>
        !flags.HasFlag(BreachFlags.Retired) && (IsSensitive || !flags.HasFlag(BreachFlags.Sensitive));

    /// <summary>Version in the store; empty if the client is not stored yet.</summary>
    public string ETag { get; init; } = "";
}
