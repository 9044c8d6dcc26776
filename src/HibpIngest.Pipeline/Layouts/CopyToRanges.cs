using Polly;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Copies accounts with their marks from the account table to the ranges of their hashes.</summary>
public sealed class CopyToRanges(
    IStoreTables tables, IOptions<UpsertOptions> options, int rowsAtOnce = CopyToRanges.RowsAtOnce)
{
    /// <summary>Rows gathered before they are written: about 80 for each partition of hashes, some 4 MB for each part.</summary>
    private const int RowsAtOnce = 20_000;

    private long _accounts;

    /// <summary>Number of accounts written.</summary>
    public long Accounts => Interlocked.Read(ref _accounts);

    public ParallelOptions InParallel(CancellationToken cancellationToken) => TablePart.InParallel(options.Value, cancellationToken);

    /// <returns>The token of the remaining rows. Null if the part is done.</returns>
    internal async Task<string?> RunAsync(
        TablePart part, string? token, LayoutFacts facts, HashSet<int> retired, ResiliencePipeline retry,
        CancellationToken cancellationToken)
    {
        var (rows, next) = await GatherAsync(part, token, retired, retry, cancellationToken);
        await WriteAsync(facts, rows, retry, cancellationToken);
        return next;
    }

    private async Task<(Dictionary<string, List<MarkedRow>> Rows, string? Next)> GatherAsync(
        TablePart part, string? token, HashSet<int> retired, ResiliencePipeline retry, CancellationToken cancellationToken)
    {
        var accounts = tables.Accounts(part.Place);
        var gathered = new Dictionary<string, List<MarkedRow>>();
        var count = 0;
        do
        {
            var page = await retry.ExecuteAsync(async stop => await accounts.ReadPageAsync(part.Number, token, stop), cancellationToken);
            foreach (var (partition, row) in page.Rows)
            {
                int[] marks = [.. row.Marks.Where(mark => !retired.Contains(mark))];
                if (marks.Length == 0)
                    continue;
                var key = RangeKeys.Of(Encoding.ASCII.GetBytes(row.Key), Encoding.ASCII.GetBytes(LayoutPlacement.DomainOf(partition)));
                if (!gathered.TryGetValue(key.Partition, out var rows))
                    gathered.Add(key.Partition, rows = []);
                rows.Add(new MarkedRow(key.Row, row.Row, marks));
                count++;
            }
            token = page.Token;
        }
        while (token is not null && count < rowsAtOnce);
        return (gathered, token);
    }

    private async Task WriteAsync(
        LayoutFacts facts, Dictionary<string, List<MarkedRow>> gathered, ResiliencePipeline retry, CancellationToken cancellationToken)
    {
        var placement = new LayoutPlacement(facts);
        // If the service rejects a token, the scan of its part starts over, so a row may come twice.
        var transactions =
            from partition in gathered
            from rows in partition.Value.DistinctBy(row => (row.Key, row.Row)).Chunk(IAccountTable.MaxTransactionEntities)
            select (Partition: partition.Key, Rows: rows);
        var parallel = Parallelism.Of(TablePart.RequestsInFlight, cancellationToken);
        await Parallel.ForEachAsync(transactions, parallel, async (transaction, token) =>
        {
            var ranges = tables.Ranges(RangeKeys.PlaceOf(transaction.Partition, facts, placement));
            var (partition, rows) = (Encoding.ASCII.GetBytes(transaction.Partition), MarkedRows.Of(transaction.Rows));
            await retry.ExecuteAsync(async stop => await ranges.MergeAsync(partition, rows, stop), token);
        });
        Interlocked.Add(ref _accounts, gathered.Values.Sum(rows => rows.Select(row => row.Key).Distinct().Count()));
    }
}
