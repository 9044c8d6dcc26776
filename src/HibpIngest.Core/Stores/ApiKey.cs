using System.Buffers;

namespace HibpIngest.Stores;

public sealed record ApiKey
{
    /// <summary>Hex digits of a key, which is 128 random bits (haveibeenpwned.com/API/v3#Authorisation).</summary>
    public const int Digits = 32;

    /// <summary>Default requests per minute: Have I Been Pwned's smallest plan.</summary>
    public const int DefaultRpm = 10;
    public const int MaxRpm = 1_000_000;

    /// <summary>Maximum time for which a server may accept a key after it was revoked.</summary>
    public static readonly TimeSpan KnownFor = TimeSpan.FromSeconds(10);

    public const int MaxNameLength = 100;

    private static readonly SearchValues<char> HexDigits = SearchValues.Create("0123456789abcdefABCDEF");

    /// <summary>SHA-256 of the key's 32 lower-case hex digits as ASCII, in lower-case hex.</summary>
    public required string Hash { get; init; }

    /// <summary>Name of the owner; unique.</summary>
    public required string Name { get; init; }
    public int Rpm { get; init; } = DefaultRpm;
    public KeyScopes Scopes { get; init; } = KeyScopes.Search;

    /// <summary>Domains that the owner controls, lower-case, sorted.</summary>
    public IReadOnlyList<string> Domains { get; init; } = [];

    /// <summary>Number of the callback client that owns the key (<see cref="CallbackClient.Number"/>). Null if no client owns it.</summary>
    public int? Client { get; init; }
    public DateTimeOffset CreatedAt { get; init; }

    /// <summary>
    /// Returns whether a text is valid as the name of a key: 1 to <see cref="MaxNameLength"/> characters, no control characters, no @.
    /// </summary>
    public static bool IsName(string name) =>
        name.Length is > 0 and <= MaxNameLength && !name.Any(char.IsControl) && !name.Contains('@', StringComparison.Ordinal);

    /// <summary>Returns whether a text has the form of a key: 32 hex digits.</summary>
    public static bool IsWellFormed(ReadOnlySpan<char> key) => key.Length == Digits && !key.ContainsAnyExcept(HexDigits);

    /// <summary>Returns the <see cref="Hash"/> of a key. Upper-case and lower-case digits are equivalent.</summary>
    public static string HashOf(ReadOnlySpan<char> key)
    {
        Span<byte> ascii = stackalloc byte[Digits];
        Encoding.ASCII.GetBytes(key[..Digits], ascii);
        Ascii.ToLowerInPlace(ascii, out _);
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(ascii, hash);
        return Convert.ToHexStringLower(hash);
    }
}

/// <summary>Permissions of a key. The numbers are stored: a contract.</summary>
[Flags]
public enum KeyScopes
{
    /// <summary>Only the key's own status.</summary>
    None = 0,

    Search = 1,

    Range = 2,

    /// <summary>The accounts of the key's domains.</summary>
    Domains = 4,

    Append = 8,

    /// <summary>Adds domains that its owner proves.</summary>
    Verify = 16,
}
