namespace HibpIngest.Journal.Merge;

/// <summary>The rows of a load as batches from a callback, which are read twice: the first pass counts the domains.</summary>
/// <param name="read">Fills the batch of that number, from 0.</param>
public sealed class BatchSource(long rows, int batches, int batchRows, Func<int, AccountBatch, CancellationToken, Task> read) : IMergeSource
{
    public long Rows => rows;

    public async Task<IReadOnlyList<LargeDomain>> FindLargeDomainsAsync(CancellationToken cancellationToken)
    {
        var domains = new DomainCounts();
        await ReadAsync(new CountVisitor(domains), _ => { }, cancellationToken);
        return domains.List();
    }

    public async Task ReadAsync<T>(T visitor, Action<long> shown, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor
    {
        using var sort = new AccountSort();
        var batch = new AccountBatch(batchRows);
        for (var number = 0; number < batches; number++)
        {
            await read(number, batch, cancellationToken);
            sort.Sort(batch);
            Show(sort, batch, ref visitor);
            shown(batch.Count);
        }
    }

    private static void Show<T>(AccountSort sort, AccountBatch batch, ref T visitor)
        where T : struct, IAccountVisitor
    {
        var order = sort.Order;
        for (var rank = 0; rank < sort.Domains; rank++)
        {
            var rows = sort.Rows(rank);
            var domain = batch.Domain(order[0]);
            visitor.BeginDomain(domain, rows);
            foreach (var account in order[..rows])
                visitor.Account(domain, batch.Alias(account));
            order = order[rows..];
        }
    }
}
