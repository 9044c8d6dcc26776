namespace HibpIngest.Api.Requests;

/// <summary>
/// Prefixes that a client starts or stops watching: <c>{"hashPrefix":"0A1B2C"}</c>, or many at once:
/// <c>{"subscribe":["0A1B2C"],"unsubscribe":["0A1B2D"]}</c>. Names are case-sensitive; unknown ones are ignored. Error messages repeat
/// nothing of the request.
/// </summary>
internal sealed class PrefixesDocument
{
    public const int Max = 100_000;

    private static readonly ErrorResponse Nothing = new(400, "No hashPrefix field was passed in the request body.");
    private static readonly ErrorResponse Invalid = new(400, "Invalid hex prefix");
    private static readonly ErrorResponse TooMany = new(
        413, string.Create(
            CultureInfo.InvariantCulture, $"At most {Max} prefixes are taken at once: send them in several parts, or all as a bitmap"));

    public List<int> Subscribed { get; } = [];
    public List<int> Unsubscribed { get; } = [];

    public static ErrorResponse? ReadOne(ReadOnlySpan<byte> json, out int prefix)
    {
        var (found, isFound) = (0, false);
        var refusal = json.IsEmpty ? Nothing : BodyJson.Read(json, (ref reader) =>
        {
            reader.Read();
            if (reader.TokenType != JsonTokenType.StartObject)
                return BodyJson.Unexpected("an object is expected");
            while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
            {
                var isPrefix = reader.ValueTextEquals("hashPrefix"u8);
                reader.Read();
                if (!isPrefix)
                    reader.Skip();
                else if (TryRead(ref reader, out found))
                    isFound = true;
                else
                    return Invalid;
            }
            return null;
        });
        prefix = found;
        return refusal ?? (isFound ? null : Nothing);
    }

    public static ErrorResponse? Read(ReadOnlySpan<byte> json, out PrefixesDocument document)
    {
        document = new PrefixesDocument();
        return BodyJson.Read(json, document.ReadLists);
    }

    private ErrorResponse? ReadLists(ref Utf8JsonReader reader)
    {
        reader.Read();
        if (reader.TokenType != JsonTokenType.StartObject)
            return BodyJson.Unexpected("an object is expected");
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            var list = reader.ValueTextEquals("subscribe"u8) ? Subscribed : reader.ValueTextEquals("unsubscribe"u8) ? Unsubscribed : null;
            reader.Read();
            if (list is null)
                reader.Skip();
            else if (ReadList(ref reader, list) is { } refusal)
                return refusal;
        }
        return null;
    }

    private ErrorResponse? ReadList(ref Utf8JsonReader reader, List<int> list)
    {
        if (reader.TokenType != JsonTokenType.StartArray)
            return BodyJson.Unexpected("an array of prefixes is expected");
        while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
        {
            if (Subscribed.Count + Unsubscribed.Count == Max)
                return TooMany;
            if (!TryRead(ref reader, out var prefix))
            {
                return Invalid with
                {
                    Message = string.Create(CultureInfo.InvariantCulture, $"{Invalid.Message} at index {list.Count}"),
                };
            }
            list.Add(prefix);
        }
        return null;
    }

    /// <returns>False if it is not a prefix. A text with escapes is not accepted.</returns>
    private static bool TryRead(ref Utf8JsonReader reader, out int prefix)
    {
        prefix = 0;
        return reader.TokenType == JsonTokenType.String && PrefixBitmap.TryParse(reader.ValueSpan, out prefix);
    }
}
