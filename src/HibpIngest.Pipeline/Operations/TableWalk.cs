using System.Text.Json;

namespace HibpIngest.Pipeline;

/// <summary>How far each part of a table has been walked.</summary>
internal sealed class TableWalk
{
    // No token of a service is this short.
    private const string Done = ".";

    private readonly string?[] _tokens;

    private TableWalk(string?[] tokens) => _tokens = tokens;

    /// <summary>How many parts have been walked to their end.</summary>
    public int PartsDone => _tokens.Count(token => token == Done);

    /// <param name="text">As recorded; null: nothing has been walked.</param>
    /// <param name="parts">Parts there are; of those that were recorded by a program that knew fewer, the others are begun.</param>
    public static TableWalk Parse(string? text, int parts)
    {
        var tokens = text is null ? [] : JsonSerializer.Deserialize<string?[]>(text)!;
        Array.Resize(ref tokens, Math.Max(parts, tokens.Length));
        return new TableWalk(tokens);
    }

    public bool IsDone(int part) => _tokens[part] == Done;

    public string? Token(int part) => _tokens[part];

    /// <param name="part">0 and up.</param>
    /// <param name="token">Of the next page; null: there is none.</param>
    public void MoveTo(int part, string? token) => _tokens[part] = token ?? Done;

    public override string ToString() => JsonSerializer.Serialize(_tokens);
}
