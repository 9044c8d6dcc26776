using System.Globalization;
using System.Text.Json;
using System.Text.Unicode;

namespace HibpIngest.Web;

/// <summary>JSON that somebody sent. What is wrong with it is said by its place, and never by what stands there.</summary>
internal static class BodyJson
{
    /// <summary>Reads a value; not null: why it is refused.</summary>
    public delegate ErrorAnswer? Reading(ref Utf8JsonReader reader);

    /// <summary>Reads all of it; not null: why it is refused.</summary>
    public static ErrorAnswer? Read(ReadOnlySpan<byte> json, Reading reading)
    {
        if (json.StartsWith("\uFEFF"u8))
            json = json["\uFEFF"u8.Length..];
        // The reader looks at no text that nobody asks for.
        if (!Utf8.IsValid(json))
            return Unexpected("it is not UTF-8");
        var reader = new Utf8JsonReader(json);
        try
        {
            if (reading(ref reader) is { } refusal)
                return refusal;
            // Whatever stands behind it.
            reader.Read();
            return null;
        }
        catch (JsonException e)
        {
            return Unexpected(string.Create(
                CultureInfo.InvariantCulture, $"it is none from line {e.LineNumber + 1}, byte {e.BytePositionInLine + 1}"));
        }
        catch (InvalidOperationException)
        {
            return Unexpected("it holds half of a character"); // the escape of a surrogate alone
        }
    }

    /// <summary>The refusal of what is no JSON, or other JSON than what is expected.</summary>
    public static ErrorAnswer Unexpected(string found) => new(400, $"Unable to parse JSON: {found}");
}
