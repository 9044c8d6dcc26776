using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Who watches prefixes of hashes, and is called when a breach holds accounts under them.</summary>
public sealed record CallbackClient
{
    /// <summary>Calls in flight to one that says nothing else.</summary>
    public const int DefaultCap = 4;

    /// <summary>Most calls in flight to one.</summary>
    public const int MostCap = 256;

    /// <summary>Requests a minute of its key, of each instance that answers: as of Have I Been Pwned's plan Pro 1.</summary>
    public const int DefaultRpm = 1_000;

    /// <summary>How long a call may take, from looking its address up to the end of the answer.</summary>
    public static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(10);

    /// <summary>Its number, never given again: what its key, its bitmap, logs and measures know it by.</summary>
    public required int Number { get; init; }

    /// <summary>Whose it is; unique.</summary>
    public required string Name { get; init; }

    /// <summary>Where it is called, by https.</summary>
    public required string Url { get; init; }

    /// <summary>It is called of sensitive breaches too.</summary>
    public bool IsSensitive { get; init; }

    /// <summary>Most calls in flight to it, of all processes together.</summary>
    public int Cap { get; init; } = DefaultCap;

    /// <summary>It is not called until it is resumed.</summary>
    public bool IsPaused { get; init; }

    /// <summary>What it is called with (bearer), sealed under HIBP_SECRET_KEY.</summary>
    public required byte[] SealedSecret { get; init; }

    /// <summary><see cref="ApiKey.Hash"/> of its key; empty where it has none (yet).</summary>
    public string KeyHash { get; init; } = "";

    public DateTimeOffset CreatedAt { get; init; }

    /// <summary>Whether it is called of a breach with such flags: of a retired one nobody is.</summary>
    public bool IsCalledOf(BreachFlags flags) =>
        !flags.HasFlag(BreachFlags.Retired) && (IsSensitive || !flags.HasFlag(BreachFlags.Sensitive));

    /// <summary>Which version of it this is; empty of one that is not stored yet.</summary>
    public string ETag { get; init; } = "";
}
