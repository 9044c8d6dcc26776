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

    private readonly KeyFile? _file;
    private volatile byte[]? _key;

    private SuppressionKey(byte[]? key, KeyFile? file) => (_key, _file) = (key, file);

    /// <summary>The hash of a constant: tells whether a key is the one that was used before; empty: it was not created yet.</summary>
    public string Check
    {
        get
        {
            _key ??= _file!.Read() is { } created ? KeyOf(created) : null;
            // No address has a space.
            return _key is { } key ? HashOfText(key, "hibp suppression key") : "";
        }
    }

    /// <summary>
    /// Takes the key from a file, which the first <see cref="HashOf"/> creates where it is missing. Whoever has hashes that were made
    /// before compares <see cref="Check"/> first.
    /// </summary>
    public static SuppressionKey In(KeyFile file) => new(null, file);

    /// <summary>Reads the key as the environment gives it; null: there is none.</summary>
    /// <exception cref="BadInputException">It is something else.</exception>
    public static SuppressionKey? Parse(string? text) =>
        string.IsNullOrWhiteSpace(text) ? null : new SuppressionKey(KeyOf(text), file: null);

    /// <summary>The hash of an address, or of its subscription to one domain.</summary>
    public string HashOf(string email, string? domain = null)
    {
        email = email.Trim().ToLowerInvariant();
        _key ??= KeyOf(_file!.ReadOrCreate());
        return HashOfText(_key, string.IsNullOrEmpty(domain) ? email : $"{email} {domain.Trim().ToLowerInvariant()}");
    }

    private static byte[] KeyOf(string text)
    {
        var key = new byte[text.Length];
        return Convert.TryFromBase64String(text.Trim(), key, out var written) && written >= MinKeyBytes
            ? key[..written] : throw new BadInputException(Expected);
    }

    private static string HashOfText(byte[] key, string text) =>
        Convert.ToHexStringLower(HMACSHA256.HashData(key, Encoding.UTF8.GetBytes(text)));
}
