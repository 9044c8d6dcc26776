namespace HibpIngest.Pipeline.Journal;

/// <summary>Looks up each account of a journaled load in the table.</summary>
public sealed class CompareAccounts(IJournalBlobs blobs, IAccountReads accounts, int maxConcurrency)
{
    /// <summary>Per lookup allowed by the caller: some of those in flight read a page each.</summary>
    private const int LookupsInFlight = 4;

    /// <returns>The number of rows whose account lacks the load's mark.</returns>
    /// <exception cref="DamagedSegmentException">A segment is damaged or missing.</exception>
    public async Task<long> RunAsync(JournaledLoad load, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var (mark, done, missing) = (load.Document!.Mark, 0L, 0L);
        foreach (var segment in load.Document.Segments)
        {
            await using var reader = await SegmentReader.OpenAsync(
                blobs, JournalNames.Segment(load.Folder, segment.First), cancellationToken);
            var batch = new AccountBatch(reader.Blocks.Max(block => block.Rows));
            foreach (var block in reader.Blocks)
            {
                await reader.ReadBlockAsync(block.First, batch, cancellationToken);
                var lookups = Parallelism.Of(maxConcurrency * LookupsInFlight, cancellationToken);
                await Parallel.ForAsync(0, batch.Count, lookups, async (i, token) =>
                {
                    if (!(await accounts.GetMarksAsync(batch.ToAccount(i), mark, token)).Contains(mark))
                        Interlocked.Increment(ref missing);
                });
                progress?.Report(done += batch.Count);
            }
        }
        return missing;
    }
}
