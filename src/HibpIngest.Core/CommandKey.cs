namespace HibpIngest;

/// <summary>
/// Opens what people request on the pages (to subscribe, to prove a domain), sealed for the pipeline. HIBP_COMMAND_KEY is a private key on
/// the curve P-256, its number as 32 bytes in base64. Thread-safe.
/// </summary>
public sealed class CommandKey
{
    private const int KeyBytes = 32;

    private readonly KeyFile? _file;
    private volatile byte[]? _key;

    private CommandKey(byte[]? key, KeyFile? file) => (_key, _file) = (key, file);

    /// <summary>The key with which the web app seals (HIBP_COMMAND_PUBLIC_KEY): a SubjectPublicKeyInfo in base64.</summary>
    public string PublicKey
    {
        get
        {
            using var key = OpenKey();
            return Convert.ToBase64String(key.ExportSubjectPublicKeyInfo());
        }
    }

    /// <summary>Takes the key from a file, which is created by its first use if it is missing.</summary>
    public static CommandKey In(KeyFile file) => new(null, file);

    /// <returns>Null if the text is null or blank.</returns>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public static CommandKey? Parse(string? text) =>
        string.IsNullOrWhiteSpace(text) ? null : new CommandKey(KeyOf(text), file: null);

    /// <exception cref="CryptographicException">It was sealed for another key, or changed.</exception>
    public byte[] Open(ReadOnlySpan<byte> sealedCommand)
    {
        using var key = OpenKey();
        return CommandSealer.Open(key, sealedCommand);
    }

    // Imported for each call: an ECDiffieHellman is not thread-safe.
    private ECDiffieHellman OpenKey() => Import(_key ??= KeyOf(_file!.ReadOrCreate()));

    private static ECDiffieHellman Import(byte[] key) =>
        ECDiffieHellman.Create(new ECParameters { Curve = ECCurve.NamedCurves.nistP256, D = key });

    private static byte[] KeyOf(string text)
    {
        try
        {
            if (KeyText.Parse(text) is { Length: KeyBytes } key)
            {
                Import(key).Dispose();
                return key;
            }
        }
        catch (CryptographicException)
        {
            // One number in 2^32 is not a private key of the curve.
        }
        throw new BadInputException("HIBP_COMMAND_KEY: expected 32 bytes in base64; make one with: hibp keys generate");
    }
}

/// <summary>
/// Seals commands so that only the holder of the <see cref="CommandKey"/> can read them: an attacker who reads the queue, or takes over the
/// web app, can't read the addresses in earlier commands. A sealed command is a version, a public key made for it on P-256, and the command
/// under AES-256-GCM with the key that HKDF-SHA-256 derives from both parties' shared secret. Padding keeps its length from revealing
/// anything. Thread-safe.
/// </summary>
public sealed class CommandSealer
{
    private const byte Version = 1;
    private const int TagBytes = 16;

    // The SubjectPublicKeyInfo of an uncompressed point on P-256.
    private const int PublicKeyBytes = 91;
    private const int PaddedTo = 768;

    private readonly byte[] _publicKey;

    private CommandSealer(byte[] publicKey) => _publicKey = publicKey;

    /// <summary>Parses HIBP_COMMAND_PUBLIC_KEY.</summary>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public static CommandSealer Parse(string text) => TryParse(text) ?? throw new BadInputException(
        "HIBP_COMMAND_PUBLIC_KEY: expected a public key of the curve P-256 in base64; make it with: hibp keys generate");

    /// <returns>Null if the text has another form.</returns>
    public static CommandSealer? TryParse(string text)
    {
        try
        {
            var bytes = Convert.FromBase64String(text.Trim());
            using var key = ECDiffieHellman.Create();
            key.ImportSubjectPublicKeyInfo(bytes, out var read);
            return read == PublicKeyBytes && bytes.Length == read
                && key.ExportParameters(false).Curve.Oid.Value == ECCurve.NamedCurves.nistP256.Oid.Value ? new CommandSealer(bytes) : null;
        }
        catch (Exception e) when (e is FormatException or CryptographicException or PlatformNotSupportedException)
        {
            return null; // not supported: a point that is not on the curve
        }
    }

    /// <param name="command">JSON of at most 768 bytes; a longer one is an <see cref="ArgumentException"/>.</param>
    public byte[] Seal(ReadOnlySpan<byte> command)
    {
        var padded = new byte[PaddedTo];
        command.CopyTo(padded);
        // JSON may be followed by spaces.
        padded.AsSpan(command.Length).Fill((byte)' ');
        using var ephemeral = ECDiffieHellman.Create(ECCurve.NamedCurves.nistP256);
        using var recipient = ECDiffieHellman.Create();
        recipient.ImportSubjectPublicKeyInfo(_publicKey, out _);
        var result = new byte[1 + PublicKeyBytes + PaddedTo + TagBytes];
        result[0] = Version;
        ephemeral.ExportSubjectPublicKeyInfo().CopyTo(result, 1);
        var body = result.AsSpan(1 + PublicKeyBytes);
        using var aes = new AesGcm(KeyOf(ephemeral, recipient.PublicKey, result.AsSpan(0, 1 + PublicKeyBytes)), TagBytes);
        aes.Encrypt(Nonce, padded, body[..PaddedTo], body[PaddedTo..]);
        return result;
    }

    internal static byte[] Open(ECDiffieHellman key, ReadOnlySpan<byte> sealedCommand)
    {
        if (sealedCommand.Length <= 1 + PublicKeyBytes + TagBytes || sealedCommand[0] != Version)
            throw new CryptographicException("it is not a sealed command");
        using var theirs = ECDiffieHellman.Create();
        try
        {
            theirs.ImportSubjectPublicKeyInfo(sealedCommand.Slice(1, PublicKeyBytes), out _);
        }
        catch (PlatformNotSupportedException e)
        {
            throw new CryptographicException("it is not a sealed command: its key is not on the curve", e);
        }
        var body = sealedCommand[(1 + PublicKeyBytes)..];
        var command = new byte[body.Length - TagBytes];
        using var aes = new AesGcm(KeyOf(key, theirs.PublicKey, sealedCommand[..(1 + PublicKeyBytes)]), TagBytes);
        aes.Decrypt(Nonce, body[..^TagBytes], body[^TagBytes..], command);
        return command;
    }

    // The same each time: no key is used twice.
    private static ReadOnlySpan<byte> Nonce => new byte[12];

    private static byte[] KeyOf(ECDiffieHellman own, ECDiffieHellmanPublicKey theirs, ReadOnlySpan<byte> header)
    {
        var secret = own.DeriveRawSecretAgreement(theirs);
        try
        {
            var key = new byte[32];
            HKDF.DeriveKey(HashAlgorithmName.SHA256, secret, key, salt: [], info: [.. "hibp command "u8, .. header]);
            return key;
        }
        finally
        {
            CryptographicOperations.ZeroMemory(secret);
        }
    }
}
