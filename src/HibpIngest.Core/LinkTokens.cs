using System.Buffers;
using System.Buffers.Text;

namespace HibpIngest;

/// <summary>Purpose of a link; its token signs it.</summary>
public enum LinkPurpose : byte
{
    Unsubscribe = 1,

    Verify = 2,

    /// <summary>Hide the address from the public.</summary>
    OptOutPublic = 3,

    /// <summary>Hide the address from all.</summary>
    OptOutAll = 4,

    /// <summary>Confirm a domain.</summary>
    Domain = 5,
}

/// <summary>
/// Signs the tokens of links in mails with HMAC-SHA-256 under HIBP_LINK_KEYS: the first key signs. A token holds a version, its purpose,
/// the random id of a subscription and the time at which it expires, but no address. In base64url it has <see cref="Length"/> characters.
/// Thread-safe.
/// </summary>
public sealed class LinkTokens
{
    /// <summary>Length of a token in characters.</summary>
    public const int Length = 51;

    /// <summary>Beginning of a TXT record that proves a domain, as in Have I Been Pwned's.</summary>
    public const string RecordPrefix = "hibp-verify=";

    private const byte Version = 1;
    private const int IdBytes = 16;
    private const int StampBytes = 2 + IdBytes + sizeof(uint);
    private const int SignatureBytes = 16;

    // Links to verify expire within days, so a rotation needn't keep a third key for them. An old mail's link to unsubscribe stays valid as
    // long as its key is listed.
    private const int VerifyingKeys = 2;

    private readonly KeyFile? _file;
    private volatile byte[][] _keys;

    private LinkTokens(byte[][] keys, KeyFile? file = null) => (_keys, _file) = (keys, file);

    private byte[][] Keys => _keys.Length > 0 ? _keys : _keys = KeysOf(_file!.ReadOrCreate())!;

    /// <summary>Takes the key from a file, which is created by its first use if it is missing.</summary>
    public static LinkTokens In(KeyFile file) => new([], file);

    /// <summary>Parses HIBP_LINK_KEYS: keys of at least 32 bytes in base64, separated by commas.</summary>
    /// <returns>Null if the text is null or blank.</returns>
    /// <exception cref="BadInputException">The text has another form.</exception>
    public static LinkTokens? Parse(string? text) => string.IsNullOrWhiteSpace(text) ? null
        : new LinkTokens(KeysOf(text) ?? throw new BadInputException(
            "HIBP_LINK_KEYS: expected one or more keys of at least 32 bytes in base64, separated by commas; make them with: hibp "
            + "keys generate"));

    /// <returns>Null if the text is not a list of keys.</returns>
    public static byte[][]? KeysOf(string text)
    {
        var keys = text.Split(',').Select(KeyText.Parse).ToList();
        return keys.Contains(null) ? null : [.. keys!];
    }

    /// <summary>Signs a token. The same arguments return the same token.</summary>
    /// <param name="expires">Expiry, rounded down to whole seconds; if null, never.</param>
    public string Create(LinkPurpose purpose, Guid id, DateTimeOffset? expires = null)
    {
        Span<byte> token = stackalloc byte[StampBytes + SignatureBytes];
        (token[0], token[1]) = (Version, (byte)purpose);
        _ = id.TryWriteBytes(token[2..], bigEndian: true, out _);
        BinaryPrimitives.WriteUInt32BigEndian(token[(2 + IdBytes)..], (uint)(expires?.ToUnixTimeSeconds() ?? uint.MaxValue));
        Sign(Keys[0], token[..StampBytes], token[StampBytes..]);
        return Base64Url.EncodeToString(token);
    }

    /// <summary>Returns the id of a token if it has this purpose, has not expired, and an accepted key has signed it.</summary>
    /// <returns>Null if the token has no effect.</returns>
    public Guid? Read(string? text, LinkPurpose purpose, DateTimeOffset now)
    {
        Span<byte> token = stackalloc byte[StampBytes + SignatureBytes];
        if (text?.Length != Length || Base64Url.DecodeFromChars(text, token, out _, out var written) != OperationStatus.Done
            || written != token.Length || token[0] != Version || token[1] != (byte)purpose
            || BinaryPrimitives.ReadUInt32BigEndian(token[(2 + IdBytes)..]) < now.ToUnixTimeSeconds())
        {
            return null;
        }
        Span<byte> signature = stackalloc byte[SignatureBytes];
        foreach (var key in Keys.Take(purpose == LinkPurpose.Unsubscribe ? int.MaxValue : VerifyingKeys))
        {
            Sign(key, token[..StampBytes], signature);
            if (CryptographicOperations.FixedTimeEquals(signature, token[StampBytes..]))
                return new Guid(token.Slice(2, IdBytes), bigEndian: true);
        }
        return null;
    }

    /// <summary>
    /// Returns the TXT record, or line of a file, by which somebody proves a domain: an HMAC of both, so that nothing has to be stored.
    /// </summary>
    /// <param name="holder">Hash of an API key, or an address in lower case.</param>
    /// <param name="domain">Lower-case ASCII.</param>
    public string RecordOf(string holder, string domain) => RecordOf(Keys[0], holder, domain);

    /// <summary>Returns whether a record proves a domain, under one of the first two keys.</summary>
    public bool Proves(string record, string holder, string domain) => Keys.Take(VerifyingKeys).Any(link =>
        CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(record), Encoding.UTF8.GetBytes(RecordOf(link, holder, domain))));

    private static string RecordOf(byte[] link, string holder, string domain) => $"{RecordPrefix}dweb_" + Convert.ToHexStringLower(
        HMACSHA256.HashData(link, Encoding.UTF8.GetBytes($"hibp domain {holder} {domain}")).AsSpan(0, SignatureBytes));

    // The text before the token keeps it apart from other uses of the key.
    private static void Sign(byte[] key, ReadOnlySpan<byte> stamp, Span<byte> signature)
    {
        Span<byte> hash = stackalloc byte[HMACSHA256.HashSizeInBytes];
        HMACSHA256.HashData(key, [.. "hibp link "u8, .. stamp], hash);
        hash[..signature.Length].CopyTo(signature);
    }
}
