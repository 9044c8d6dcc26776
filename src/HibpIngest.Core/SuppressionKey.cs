using System.Security.Cryptography;
using System.Text;
using HibpIngest.Errors;

namespace HibpIngest;

/// <summary>
/// What addresses that are not to be told are known by: HMAC-SHA-256 under HIBP_SUPPRESSION_KEY, in lower-case hex. Without the
/// key nobody can ask whether an address is among them, which a plain hash would tell to whoever guesses. Thread-safe.
/// </summary>
public sealed class SuppressionKey
{
    private const int MinKeyBytes = 32;
    private const string Expected =
        "HIBP_SUPPRESSION_KEY is expected to be 32 bytes or more in base64; make one with: openssl rand -base64 32";

    private readonly byte[] _key;

    private SuppressionKey(byte[] key)
    {
        _key = key;
        // No address has a space.
        Check = HashOfText("hibp suppression key");
    }

    /// <summary>The hash of a constant: tells whether a key is the one that was used before.</summary>
    public string Check { get; }

    /// <summary>Reads the key as the environment gives it; null: there is none.</summary>
    /// <exception cref="BadInputException">It is something else.</exception>
    public static SuppressionKey? Parse(string? text)
    {
        if (string.IsNullOrWhiteSpace(text))
            return null;
        var key = new byte[text.Length];
        return Convert.TryFromBase64String(text.Trim(), key, out var written) && written >= MinKeyBytes
            ? new SuppressionKey(key[..written]) : throw new BadInputException(Expected);
    }

    /// <summary>The hash of an address, or of its subscription to one domain.</summary>
    public string HashOf(string email, string? domain = null)
    {
        email = email.Trim().ToLowerInvariant();
        return HashOfText(string.IsNullOrEmpty(domain) ? email : $"{email} {domain.Trim().ToLowerInvariant()}");
    }

    private string HashOfText(string text) => Convert.ToHexStringLower(HMACSHA256.HashData(_key, Encoding.UTF8.GetBytes(text)));
}
