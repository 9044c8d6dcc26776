using System.Collections.Concurrent;

namespace HibpIngest.Pipeline.Layouts;

internal readonly record struct TablePart(TablePlace Place, int Number, bool OfRanges)
{
    public const int RequestsInFlight = 4;

    /// <summary>Identifies the part in the record of a scan; unique across tables.</summary>
    public string Key => $"{Place.Table}@{Place.StorageAccount}/{Number}";

    public static ParallelOptions InParallel(UpsertOptions options, CancellationToken cancellationToken) =>
        Parallelism.Of(Math.Max(options.TransactionsInFlight / RequestsInFlight, 1), cancellationToken);

    public static IReadOnlyList<TablePart> Of(LayoutFacts facts, bool withRanges) =>
        withRanges ? [.. OfAccounts(facts), .. OfHashes(facts)] : OfAccounts(facts);

    public static IReadOnlyList<TablePart> OfAccounts(LayoutFacts facts) => Of(facts, facts.AccountsTable, IAccountTable.Parts, false);

    public static IReadOnlyList<TablePart> OfHashes(LayoutFacts facts) => Of(facts, facts.RangesTable, IRangeTable.Parts, true);

    public Task<MarkPage> RemoveMarkAsync(IStoreTables tables, int mark, string? token, CancellationToken cancellationToken) => OfRanges
        ? tables.Ranges(Place).RemoveMarkAsync(mark, Number, token, cancellationToken)
        : tables.Accounts(Place).RemoveMarkAsync(mark, Number, token, cancellationToken);

    private static List<TablePart> Of(LayoutFacts facts, string table, int parts, bool ofRanges) =>
        [.. from number in Enumerable.Range(0, parts)
            from account in facts.StorageAccounts
            select new TablePart(new TablePlace(account, table), number, ofRanges)];
}

internal sealed class TableScan
{
    // Distinct from any token of the service, which are longer.
    private const string Done = ".";

    private readonly ConcurrentDictionary<string, string> _tokens;
    private readonly SemaphoreSlim _recording = new(1);

    private TableScan(IEnumerable<KeyValuePair<string, string>> tokens) => _tokens = new(tokens);

    public int PartsDone => _tokens.Values.Count(token => token == Done);

    public static TableScan Parse(string? text) => new(
        text is null ? []
        : text.StartsWith('[') ? ParseFirst(JsonSerializer.Deserialize<string?[]>(text)!)
        : JsonSerializer.Deserialize<Dictionary<string, string>>(text)!);

    public bool IsDone(TablePart part) => Token(part) == Done;

    public string? Token(TablePart part) => _tokens.GetValueOrDefault(part.Key);

    /// <param name="token">Token of the next page; null if the part is done.</param>
    public async Task MoveToAsync(
        TablePart part, string? token, Func<string, CancellationToken, Task> record, CancellationToken cancellationToken)
    {
        await _recording.WaitAsync(cancellationToken);
        try
        {
            _tokens[part.Key] = token ?? Done;
            await record(ToString(), cancellationToken);
        }
        finally
        {
            _recording.Release();
        }
    }

    public override string ToString() => JsonSerializer.Serialize(_tokens);

    /// <summary>Parses the form of versions with only one layout: the parts of its accounts, then those of its hashes.</summary>
    private static IEnumerable<KeyValuePair<string, string>> ParseFirst(string?[] tokens)
    {
        var parts = TablePart.Of(StoreLayout.First.Facts, withRanges: true);
        return parts.Zip(tokens).Where(one => one.Second is not null).Select(one => KeyValuePair.Create(one.First.Key, one.Second!));
    }
}
