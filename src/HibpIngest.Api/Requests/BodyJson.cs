using System.Text.Unicode;

namespace HibpIngest.Api.Requests;

/// <summary>Parses JSON of a request. Errors name the position, and never repeat the content.</summary>
internal static class BodyJson
{
    public delegate ErrorResponse? Reading(ref Utf8JsonReader reader);

    public static ErrorResponse? Read(ReadOnlySpan<byte> json, Reading reading)
    {
        if (json.StartsWith("\uFEFF"u8))
            json = json["\uFEFF"u8.Length..];
        // The reader doesn't validate the text of skipped values.
        if (!Utf8.IsValid(json))
            return Unexpected("it is not UTF-8");
        var reader = new Utf8JsonReader(json);
        try
        {
            if (reading(ref reader) is { } refusal)
                return refusal;
            // Trailing content is an error.
            reader.Read();
            return null;
        }
        catch (JsonException e)
        {
            return Unexpected(string.Create(
                CultureInfo.InvariantCulture, $"it is not JSON from line {e.LineNumber + 1}, byte {e.BytePositionInLine + 1}"));
        }
        catch (InvalidOperationException)
        {
            return Unexpected("it holds half of a character"); // an escaped lone surrogate
        }
    }

    public static ErrorResponse Unexpected(string found) => new(400, $"Unable to parse JSON: {found}");
}
