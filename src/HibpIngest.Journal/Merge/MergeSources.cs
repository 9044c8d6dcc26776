using HibpIngest.Journal.Manifest;

namespace HibpIngest.Journal.Merge;

/// <summary>A load whose rows are merged with those of others: from the journal or from SQL.</summary>
public interface IMergeSource
{
    /// <summary>Known after <see cref="FindLargeDomainsAsync"/>.</summary>
    long Rows { get; }

    /// <summary>Returns the domains that may have to be split, with their rows; the same on every call.</summary>
    Task<IReadOnlyList<LargeDomain>> FindLargeDomainsAsync(CancellationToken cancellationToken);

    /// <summary>Passes every row to the visitor, grouped by domain.</summary>
    /// <param name="progress">Receives the number of rows passed since its last call.</param>
    /// <exception cref="DamagedSegmentException">A segment is damaged.</exception>
    /// <exception cref="Errors.StoreMissingException">A segment is missing.</exception>
    Task ReadAsync<T>(T visitor, Action<long> progress, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor;
}

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

    public async Task ReadAsync<T>(T visitor, Action<long> progress, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor
    {
        using var sort = new AccountSort();
        var batch = new AccountBatch(batchRows);
        for (var number = 0; number < batches; number++)
        {
            await read(number, batch, cancellationToken);
            sort.Sort(batch);
            Visit(sort, batch, ref visitor);
            progress(batch.Count);
        }
    }

    private static void Visit<T>(AccountSort sort, AccountBatch batch, ref T visitor)
        where T : struct, IAccountVisitor
    {
        var order = sort.Order;
        for (var rank = 0; rank < sort.Domains; rank++)
        {
            var rows = sort.Rows(rank);
            var domain = batch.Domain(order[0]);
            visitor.BeginDomain(domain, rows);
            foreach (var account in order[..rows])
                visitor.Account(batch.Alias(account), domain);
            order = order[rows..];
        }
    }
}

/// <summary>The rows of a load in the journal.</summary>
/// <param name="load">The load's number, which each segment must name, as well as its mark.</param>
/// <param name="segments">Names of the segments, in order.</param>
public sealed class SegmentSource(IJournalBlobs blobs, LoadId load, int mark, IReadOnlyList<string> segments) : IMergeSource
{
    /// <param name="load">A current load.</param>
    public static SegmentSource Of(IJournalBlobs blobs, JournaledLoad load) => new(
        blobs, new(load.Document!.Load), load.Document.Mark,
        [.. load.Document.Segments.Select(segment => JournalNames.Segment(load.Folder, segment.First))]);

    public long Rows { get; private set; }

    public async Task<IReadOnlyList<LargeDomain>> FindLargeDomainsAsync(CancellationToken cancellationToken)
    {
        var large = new List<LargeDomain>();
        Rows = 0;
        foreach (var name in segments)
        {
            await using var reader = await OpenAsync(name, cancellationToken);
            large.AddRange(reader.LargeDomains);
            Rows += reader.Rows;
        }
        return large;
    }

    public async Task ReadAsync<T>(T visitor, Action<long> progress, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor
    {
        foreach (var name in segments)
        {
            await using var reader = await OpenAsync(name, cancellationToken);
            await reader.ReadAsync(visitor, cancellationToken);
            progress(reader.Rows);
        }
    }

    private async Task<SegmentReader> OpenAsync(string name, CancellationToken cancellationToken)
    {
        var reader = await SegmentReader.OpenAsync(blobs, name, cancellationToken);
        if (reader.Facts.Load == load && reader.Facts.Mark == mark)
            return reader;
        var facts = reader.Facts;
        await reader.DisposeAsync();
        throw new DamagedSegmentException(
            name, null, 0, $"expected load {load} with mark {mark}, found load {facts.Load} with mark {facts.Mark}");
    }
}
