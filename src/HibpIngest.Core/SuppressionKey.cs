namespace HibpIngest;

/// <summary>
/// Hashes addresses that must not be notified: HMAC-SHA-256 under HIBP_SUPPRESSION_KEY, in lower-case hex. A plain hash would let anyone
/// test guessed addresses; this one can't be tested without the key. Thread-safe.
/// </summary>
public sealed class SuppressionKey
{
    private const string Expected =
        "HIBP_SUPPRESSION_KEY: expected 32 bytes or more in base64; make one with: openssl rand -base64 32";

    private readonly KeyFile? _file;
    private volatile byte[]? _key;

    private SuppressionKey(byte[]? key, KeyFile? file) => (_key, _file) = (key, file);

    /// <summary>Hash of a constant, which identifies the key. Empty if the key was not created yet.</summary>
    public string Check
    {
        get
        {
            _key ??= _file!.Read() is { } created ? KeyOf(created) : null;
            // A constant with spaces, which no address has.
            return _key is { } key ? HashOfText(key, "hibp suppression key") : "";
        }
    }

    /// <summary>
    /// Takes the key from a file, which the first <see cref="HashOf"/> creates if it is missing. Callers with existing hashes must compare
    /// <see cref="Check"/> first.
    /// </summary>
    public static SuppressionKey In(KeyFile file) => new(null, file);

    /// <returns>Null if the text is null or blank.</returns>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public static SuppressionKey? Parse(string? text) =>
        string.IsNullOrWhiteSpace(text) ? null : new SuppressionKey(KeyOf(text), file: null);

    /// <summary>Returns the hash of an address, or of its subscription to one domain.</summary>
    public string HashOf(string email, string? domain = null)
    {
        email = email.Trim().ToLowerInvariant();
        _key ??= KeyOf(_file!.ReadOrCreate());
        return HashOfText(_key, string.IsNullOrEmpty(domain) ? email : $"{email} {domain.Trim().ToLowerInvariant()}");
    }

    private static byte[] KeyOf(string text) => KeyText.Parse(text) ?? throw new BadInputException(Expected);

    private static string HashOfText(byte[] key, string text) =>
        Convert.ToHexStringLower(HMACSHA256.HashData(key, Encoding.UTF8.GetBytes(text)));
}
