namespace HibpIngest;

/// <summary>
/// Encrypts secrets that are kept in the stores: AES-256-GCM under HIBP_SECRET_KEY. The setting may hold several keys for rotation: the
/// first one encrypts, all decrypt. The output is a nonce of 12 bytes, the tag of 16 bytes, and the ciphertext. Thread-safe.
/// </summary>
public sealed class SecretKeys : IDisposable
{
    private const int NonceBytes = 12;
    private const int TagBytes = 16;
    private const int KeyBytes = 32;

    private readonly KeyFile? _file;
    private volatile byte[][] _keys;

    private SecretKeys(byte[][] keys, KeyFile? file = null) => (_keys, _file) = (keys, file);

    /// <summary>Takes the key from a file, which the first <see cref="Seal"/> creates if it is missing.</summary>
    public static SecretKeys In(KeyFile file) => new([], file);

    /// <summary>Parses the environment variable: keys of 32 bytes in base64, separated by commas.</summary>
    /// <returns>Null if the text is null or empty.</returns>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public static SecretKeys? Parse(string? text)
    {
        if (string.IsNullOrEmpty(text))
            return null;
        return new SecretKeys(KeysOf(text));
    }

    private static byte[][] KeysOf(string text) =>
        LinkTokens.KeysOf(text) is { } keys && keys.All(key => key.Length == KeyBytes) ? keys
        : throw new BadInputException("HIBP_SECRET_KEY: expected 32 bytes in base64, or several such with commas between; make one with: "
            + "openssl rand -base64 32");

    /// <param name="context">Associated data: <see cref="Open"/> succeeds only with the same value.</param>
    public byte[] Seal(ReadOnlySpan<byte> text, ReadOnlySpan<byte> context)
    {
        if (_keys.Length == 0)
            _keys = KeysOf(_file!.ReadOrCreate());
        var result = new byte[NonceBytes + TagBytes + text.Length];
        RandomNumberGenerator.Fill(result.AsSpan(0, NonceBytes));
        using var aes = new AesGcm(_keys[0], TagBytes); // an instance is not thread-safe
        aes.Encrypt(
            result.AsSpan(0, NonceBytes), text, result.AsSpan(NonceBytes + TagBytes), result.AsSpan(NonceBytes, TagBytes), context);
        return result;
    }

    /// <returns>Null if it was encrypted under none of these keys or with another context.</returns>
    public byte[]? Open(ReadOnlySpan<byte> content, ReadOnlySpan<byte> context)
    {
        if (content.Length < NonceBytes + TagBytes)
            return null;
        // Another process may have created the key since.
        if (_keys.Length == 0 && _file!.Read() is { } created)
            _keys = KeysOf(created);
        var text = new byte[content.Length - NonceBytes - TagBytes];
        foreach (var key in _keys)
        {
            using var aes = new AesGcm(key, TagBytes);
            try
            {
                aes.Decrypt(content[..NonceBytes], content[(NonceBytes + TagBytes)..], content.Slice(NonceBytes, TagBytes), text, context);
                return text;
            }
            catch (AuthenticationTagMismatchException)
            {
                // Encrypted under another key.
            }
        }
        return null;
    }

    public void Dispose()
    {
        foreach (var key in _keys)
            CryptographicOperations.ZeroMemory(key);
    }
}

/// <summary>The keys of an installation. Disposing it disposes them.</summary>
/// <param name="Secret">Keys that encrypt secrets in the stores; null if not configured.</param>
/// <param name="Suppression">Key that hashes the addresses that get no mail; null if not configured.</param>
/// <param name="Links">Keys that sign the links in mails; null if not configured.</param>
/// <param name="Commands">Key that opens people's commands; null if not configured.</param>
public sealed record InstallationKeys(
    SecretKeys? Secret, SuppressionKey? Suppression, LinkTokens? Links = null, CommandKey? Commands = null) : IDisposable
{
    public void Dispose() => Secret?.Dispose();
}
