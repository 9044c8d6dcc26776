using System.Security.Cryptography;
using System.Text;

namespace HibpIngest.Stores;

public sealed record ApiKey
{
    /// <summary>Hex digits of a key, which is 128 random bits (haveibeenpwned.com/API/v3#Authorisation).</summary>
    public const int Digits = 32;

    /// <summary>Requests a minute of a key that is made without saying how many: Have I Been Pwned's smallest plan.</summary>
    public const int DefaultRpm = 10;

    /// <summary>Most requests a minute that one may have.</summary>
    public const int MostRpm = 1_000_000;

    /// <summary>A server may know one for so long after it was taken away.</summary>
    public static readonly TimeSpan KnownFor = TimeSpan.FromSeconds(10);

    public const int MostNameLength = 100;

    /// <summary>SHA-256 of the key's 32 lower-case hex digits as ASCII, in lower-case hex.</summary>
    public required string Hash { get; init; }

    /// <summary>Whose it is; unique.</summary>
    public required string Name { get; init; }

    public int Rpm { get; init; } = DefaultRpm;

    public KeyScopes Scopes { get; init; } = KeyScopes.Search;

    /// <summary>Domains whose owner has it, lower-case, in order.</summary>
    public IReadOnlyList<string> Domains { get; init; } = [];

    /// <summary>Number of the client of callbacks that has it (<see cref="CallbackClient.Number"/>); null: it is nobody's.</summary>
    public int? Client { get; init; }

    public DateTimeOffset CreatedAt { get; init; }

    /// <summary>Whether it is a key's, or its owner's, name: some characters, and no email address.</summary>
    public static bool IsName(string name) =>
        name.Length is > 0 and <= MostNameLength && !name.Any(char.IsControl) && !name.Contains('@', StringComparison.Ordinal);

    /// <summary>Whether it is a key's form: 32 hex digits.</summary>
    public static bool IsWellFormed(ReadOnlySpan<char> key)
    {
        if (key.Length != Digits)
            return false;
        foreach (var digit in key)
        {
            if (!char.IsAsciiHexDigit(digit))
                return false;
        }
        return true;
    }

    /// <summary>What a key is known by: its <see cref="Hash"/>. Digits in either case are the same key.</summary>
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

/// <summary>What a key may ask. The numbers are stored: a contract.</summary>
[Flags]
public enum KeyScopes
{
    /// <summary>Nothing but its own status.</summary>
    None = 0,

    Search = 1,

    Range = 2,

    /// <summary>The accounts of the key's domains.</summary>
    Domains = 4,

    Append = 8,
}
