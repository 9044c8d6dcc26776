using System.Buffers;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Ranges;

namespace HibpIngest.Api.Requests;

/// <summary>
/// Hashes to add to Pwned Passwords: <c>[{"sha1":"…","ntlm":"…","num":1}]</c>, or with the older names <c>sha1Hash</c>, <c>ntlmHash</c>
/// and <c>prevalence</c>. Names are case-sensitive; unknown ones are ignored; the last one of a repeated name counts. Error messages are
/// Have I Been Pwned's, and repeat nothing of the request.
/// </summary>
internal sealed class AppendDocument
{
    /// <summary>Maximum count of one row: a larger one would most likely be a mistake, which could never be undone.</summary>
    public const int MaxOfARow = 1_000_000;

    public List<HashCount> Sha1 { get; } = [];
    public List<HashCount> Ntlm { get; } = [];

    public static ErrorResponse? Read(ReadOnlySpan<byte> json, out AppendDocument document)
    {
        document = new AppendDocument();
        return BodyJson.Read(json, document.ReadArray);
    }

    private ErrorResponse? ReadArray(ref Utf8JsonReader reader)
    {
        reader.Read();
        if (reader.TokenType != JsonTokenType.StartArray)
            return BodyJson.Unexpected("an array of items is expected");
        for (var item = 1; reader.Read() && reader.TokenType != JsonTokenType.EndArray; item++)
        {
            if (item > AppendRows.MaxRows)
                return TooMany;
            if (reader.TokenType == JsonTokenType.Null)
                return Bad("Null PwnedPassword append entity at", item);
            if (reader.TokenType != JsonTokenType.StartObject)
                return BodyJson.Unexpected(WithItem("an object is expected for item at index", item));
            if (ReadItem(ref reader, item) is { } refusal)
                return refusal;
        }
        return null;
    }

    private ErrorResponse? ReadItem(ref Utf8JsonReader reader, int item)
    {
        Span<byte> sha1 = stackalloc byte[HashMode.Sha1.Bytes()];
        Span<byte> ntlm = stackalloc byte[HashMode.Ntlm.Bytes()];
        var (hasSha1, hasNtlm, count) = (Given.Missing, Given.Missing, 0L);
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            if (reader.ValueTextEquals("sha1"u8) || reader.ValueTextEquals("sha1Hash"u8))
            {
                if (!TryReadHash(ref reader, sha1, out hasSha1))
                    return BodyJson.Unexpected(WithItem("text is expected as the SHA-1 hash for item at index", item));
            }
            else if (reader.ValueTextEquals("ntlm"u8) || reader.ValueTextEquals("ntlmHash"u8))
            {
                if (!TryReadHash(ref reader, ntlm, out hasNtlm))
                    return BodyJson.Unexpected(WithItem("text is expected as the NTLM hash for item at index", item));
            }
            else if (reader.ValueTextEquals("num"u8) || reader.ValueTextEquals("prevalence"u8))
            {
                if (!TryReadCount(ref reader, out count))
                    return BodyJson.Unexpected(WithItem("a number is expected as the prevalence value for item at index", item));
            }
            else
            {
                reader.Skip();
            }
        }
        if (hasSha1 != Given.Well)
            return BadHash("SHA-1", hasSha1, item);
        if (hasNtlm != Given.Well)
            return BadHash("NTLM", hasNtlm, item);
        if (count is < 1 or > MaxOfARow)
            return Bad("Missing or invalid prevalence value for item at index", item);
        Sha1.Add(new HashCount(sha1, count));
        Ntlm.Add(new HashCount(ntlm, count));
        return null;
    }

    /// <returns>False if it is not a text.</returns>
    private static bool TryReadHash(ref Utf8JsonReader reader, scoped Span<byte> hash, out Given given)
    {
        reader.Read();
        given = Given.Missing;
        if (reader.TokenType == JsonTokenType.Null)
            return true;
        if (reader.TokenType != JsonTokenType.String)
            return false;
        scoped var text = reader.ValueSpan;
        if (text.IsEmpty)
            return true;
        // A hex digit may be written as a six-character escape.
        Span<byte> unescaped = stackalloc byte[6 * HashMode.Sha1.Digits()];
        if (reader.ValueIsEscaped)
            text = text.Length <= unescaped.Length ? unescaped[..reader.CopyString(unescaped)] : [];
        given = text.Length == 2 * hash.Length && Convert.FromHexString(text, hash, out _, out _) == OperationStatus.Done
            ? Given.Well : Given.Malformed;
        return true;
    }

    /// <returns>False if it is not a number. A number that is not a valid count is read as 0.</returns>
    private static bool TryReadCount(ref Utf8JsonReader reader, out long count)
    {
        reader.Read();
        count = 0;
        if (reader.TokenType == JsonTokenType.Null)
            return true;
        if (reader.TokenType != JsonTokenType.Number)
            return false;
        if (!reader.TryGetInt64(out count))
            count = 0;
        return true;
    }

    private static ErrorResponse BadHash(string mode, Given given, int item) => given == Given.Missing
        ? Bad($"Missing {mode} hash for item at index", item) : Bad($"The {mode} hash was not in a valid format for item at index", item);

    private static ErrorResponse Bad(string problem, int item) => new(400, WithItem(problem, item));

    private static string WithItem(string problem, int item) => string.Create(CultureInfo.InvariantCulture, $"{problem} {item}");

    private static readonly ErrorResponse TooMany = new(
        413,
        string.Create(CultureInfo.InvariantCulture, $"At most {AppendRows.MaxRows} items are taken at once: send them in several parts"));

    private enum Given
    {
        Missing = 0,
        Malformed,
        Well,
    }
}
