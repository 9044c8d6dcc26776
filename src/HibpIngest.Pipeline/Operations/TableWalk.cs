using System.Collections.Concurrent;
using System.Text.Json;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>How far each part of the tables has been walked.</summary>
internal sealed class TableWalk
{
    // No token of a service is this short.
    private const string Done = ".";

    private readonly ConcurrentDictionary<string, string> _tokens;

    private TableWalk(IEnumerable<KeyValuePair<string, string>> tokens) => _tokens = new(tokens);

    /// <summary>How many parts have been walked to their end.</summary>
    public int PartsDone => _tokens.Values.Count(token => token == Done);

    /// <param name="text">As recorded; null: nothing has been walked.</param>
    public static TableWalk Parse(string? text) => new(
        text is null ? []
        : text.StartsWith('[') ? ParseFirst(JsonSerializer.Deserialize<string?[]>(text)!)
        : JsonSerializer.Deserialize<Dictionary<string, string>>(text)!);

    public bool IsDone(TablePart part) => Token(part) == Done;

    public string? Token(TablePart part) => _tokens.GetValueOrDefault(part.Key);

    /// <param name="token">Of the next page; null: there is none.</param>
    public void MoveTo(TablePart part, string? token) => _tokens[part.Key] = token ?? Done;

    public override string ToString() => JsonSerializer.Serialize(_tokens);

    /// <summary>As recorded by programs that knew one layout: the parts of its accounts, and those of its hashes behind them.</summary>
    private static IEnumerable<KeyValuePair<string, string>> ParseFirst(string?[] tokens)
    {
        var first = StoreLayout.First.Facts;
        var parts = TablePart.OfAccounts(first).Concat(TablePart.OfRanges(first));
        return parts.Zip(tokens).Where(one => one.Second is not null)
            .Select(one => KeyValuePair.Create(one.First.Key, one.Second!));
    }
}
