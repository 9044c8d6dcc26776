using System.Buffers;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// The calls to one client because of one slice: hashes in ascending order; hashes with the same prefix form one call. Stored sealed, as
/// the byte 1 followed by 20 bytes a hash. Calls have the order of the bits in <see cref="CallbackDelivery.Done"/>.
/// </summary>
internal sealed class CallList
{
    public const int HashBytes = 20;

    private const int PrefixBytes = PrefixBitmap.Digits / 2;

    private const byte Version = 1;

    private readonly ReadOnlyMemory<byte> _hashes;
    private readonly List<int> _starts = [];

    private CallList(ReadOnlyMemory<byte> hashes)
    {
        _hashes = hashes;
        for (var i = 0; i < hashes.Length; i += HashBytes)
        {
            if (StartsCall(hashes.Span, i))
                _starts.Add(i);
        }
    }

    public int Count => _starts.Count;

    public static int CountOf(ReadOnlySpan<byte> hashes)
    {
        var calls = 0;
        for (var i = 0; i < hashes.Length; i += HashBytes)
        {
            if (StartsCall(hashes, i))
                calls++;
        }
        return calls;
    }

    /// <summary>Seals hashes for one delivery; they can't be opened for another.</summary>
    public static byte[] Seal(SecretKeys keys, CallbackKey delivery, ReadOnlySpan<byte> hashes)
    {
        var content = ArrayPool<byte>.Shared.Rent(1 + hashes.Length);
        try
        {
            content[0] = Version;
            hashes.CopyTo(content.AsSpan(1));
            return keys.Seal(content.AsSpan(0, 1 + hashes.Length), ContextOf(delivery));
        }
        finally
        {
            CryptographicOperations.ZeroMemory(content);
            ArrayPool<byte>.Shared.Return(content);
        }
    }

    /// <returns>Null if it is sealed under another key or for another delivery, or of an unknown version.</returns>
    public static CallList? Open(SecretKeys keys, CallbackKey delivery, ReadOnlySpan<byte> content) =>
        keys.Open(content, ContextOf(delivery)) is [Version, ..] opened && opened.Length % HashBytes == 1
            ? new CallList(opened.AsMemory(1)) : null;

    public (byte[] Body, string IdempotencyKey) Make(int call, int client, string breach)
    {
        var end = call + 1 < _starts.Count ? _starts[call + 1] : _hashes.Length;
        var hashes = _hashes.Span[_starts[call]..end];
        var prefix = Convert.ToHexString(hashes[..PrefixBytes]);
        var suffixes = new string[hashes.Length / HashBytes];
        for (var i = 0; i < suffixes.Length; i++)
            suffixes[i] = Convert.ToHexString(hashes.Slice(i * HashBytes, HashBytes)[PrefixBytes..]);

        var body = new ArrayBufferWriter<byte>(96 + (suffixes.Length * 40));
        using (var json = new Utf8JsonWriter(body))
        {
            json.WriteStartObject();
            json.WriteString("breachName", breach);
            json.WriteString("hashPrefix", prefix);
            json.WriteStartArray("hashSuffixes");
            foreach (var suffix in suffixes)
                json.WriteStringValue(suffix);
            json.WriteEndArray();
            json.WriteEndObject();
        }
        return (body.WrittenSpan.ToArray(), KeyOf(client, breach, prefix, suffixes));
    }

    /// <summary>Returns the SHA-256 of client, breach, prefix and comma-separated suffixes, one line each, in lower-case hex.</summary>
    internal static string KeyOf(int client, string breach, string prefix, string[] suffixes) => Convert.ToHexStringLower(
        SHA256.HashData(Encoding.UTF8.GetBytes($"{client}\n{breach}\n{prefix}\n{string.Join(',', suffixes)}")));

    private static byte[] ContextOf(CallbackKey delivery) =>
        Encoding.ASCII.GetBytes($"callback {delivery.Load} {delivery.Slice} {delivery.Client}");

    private static bool StartsCall(ReadOnlySpan<byte> hashes, int i) =>
        i == 0 || !hashes.Slice(i, PrefixBytes).SequenceEqual(hashes.Slice(i - HashBytes, PrefixBytes));
}
