using System.Globalization;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace HibpIngest.Breaches;

/// <summary>Writes a time as Have I Been Pwned does: <c>2013-12-04T00:00:00Z</c>, without fractions.</summary>
public sealed class WholeSecondsConverter : JsonConverter<DateTimeOffset>
{
    private const string Format = "yyyy-MM-dd'T'HH:mm:ss'Z'";

    public override DateTimeOffset Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.GetDateTimeOffset();

    public override void Write(Utf8JsonWriter writer, DateTimeOffset value, JsonSerializerOptions options) =>
        writer.WriteStringValue(value.UtcDateTime.ToString(Format, CultureInfo.InvariantCulture));
}
