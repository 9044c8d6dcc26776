using System.Buffers.Text;
using System.Text.Json;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Reads rows of the tables of marks from the service's JSON as it came: a lookup is one of millions a day, and a document
/// model of an answer costs more than the rest of it.
/// </summary>
internal static class MarkRows
{
    /// <summary>Of an entity that is not there.</summary>
    public static readonly IReadOnlyList<int> None = [];

    /// <summary>The marks of one entity, ascending.</summary>
    /// <exception cref="JsonException">It is none.</exception>
    public static IReadOnlyList<int> ReadMarks(ReadOnlySpan<byte> entity)
    {
        var reader = new Utf8JsonReader(entity);
        reader.Read();
        return ReadEntity(ref reader).Marks;
    }

    /// <summary>Row keys and marks of a page.</summary>
    /// <exception cref="JsonException">It is none.</exception>
    public static List<(string Key, IReadOnlyList<int> Marks)> ReadPage(ReadOnlySpan<byte> page)
    {
        var rows = new List<(string, IReadOnlyList<int>)>();
        var reader = new Utf8JsonReader(page);
        Expect(ref reader, JsonTokenType.StartObject);
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            if (!reader.ValueTextEquals("value"u8))
            {
                reader.Read();
                reader.Skip();
                continue;
            }
            Expect(ref reader, JsonTokenType.StartArray);
            while (reader.Read() && reader.TokenType == JsonTokenType.StartObject)
            {
                var (key, marks) = ReadEntity(ref reader);
                rows.Add((key ?? throw new JsonException(), marks));
            }
        }
        return rows;
    }

    /// <summary>From an entity's first brace to its last.</summary>
    private static (string? Key, IReadOnlyList<int> Marks) ReadEntity(ref Utf8JsonReader reader)
    {
        if (reader.TokenType != JsonTokenType.StartObject)
            throw new JsonException();
        string? key = null;
        List<int>? marks = null;
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            var mark = MarkOf(reader.ValueSpan);
            var isKey = mark == 0 && reader.ValueTextEquals("RowKey"u8);
            reader.Read();
            if (mark > 0 && reader.TokenType == JsonTokenType.True)
                (marks ??= []).Add(mark);
            else if (isKey)
                key = reader.GetString();
            else
                reader.Skip();
        }
        if (marks is null)
            return (key, None);
        marks.Sort();
        return (key, marks);
    }

    private static void Expect(ref Utf8JsonReader reader, JsonTokenType type)
    {
        if (!reader.Read() || reader.TokenType != type)
            throw new JsonException();
    }

    /// <summary>17 of "b17"; 0 of any other name.</summary>
    private static int MarkOf(ReadOnlySpan<byte> property) =>
        property.Length > 1 && property[0] == 'b'
        && Utf8Parser.TryParse(property[1..], out int mark, out var read) && read == property.Length - 1 && mark > 0 ? mark : 0;
}
