using System.Collections.Concurrent;
using System.Text.Json;

namespace HibpIngest.Pipeline.Layouts;

internal sealed class TableWalk
{
    // Distinct from any token of the service, which are longer.
    private const string Done = ".";

    private readonly ConcurrentDictionary<string, string> _tokens;

    private TableWalk(IEnumerable<KeyValuePair<string, string>> tokens) => _tokens = new(tokens);

    public int PartsDone => _tokens.Values.Count(token => token == Done);

    /// <param name="text">The recorded form; null: nothing has been walked.</param>
    public static TableWalk Parse(string? text) => new(
        text is null ? []
        : text.StartsWith('[') ? ParseFirst(JsonSerializer.Deserialize<string?[]>(text)!)
        : JsonSerializer.Deserialize<Dictionary<string, string>>(text)!);

    public bool IsDone(TablePart part) => Token(part) == Done;

    public string? Token(TablePart part) => _tokens.GetValueOrDefault(part.Key);

    /// <param name="token">Token of the next page; null: the part is done.</param>
    public void MoveTo(TablePart part, string? token) => _tokens[part.Key] = token ?? Done;

    public override string ToString() => JsonSerializer.Serialize(_tokens);

    /// <summary>Parses the form of versions with only one layout: the parts of its accounts, then those of its hashes.</summary>
    private static IEnumerable<KeyValuePair<string, string>> ParseFirst(string?[] tokens)
    {
        var first = StoreLayout.First.Facts;
        var parts = TablePart.OfAccounts(first).Concat(TablePart.OfRanges(first));
        return parts.Zip(tokens).Where(one => one.Second is not null)
            .Select(one => KeyValuePair.Create(one.First.Key, one.Second!));
    }
}
