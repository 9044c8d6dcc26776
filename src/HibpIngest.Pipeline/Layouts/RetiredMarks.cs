using Polly;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Finds retired marks, and removes them from entities that were written in the meantime.</summary>
internal sealed class RetiredMarks(ILoads loads, IDatabaseState database, IStoreTables tables)
{
    /// <summary>Returns the marks of removed loads, and of loads that are being removed.</summary>
    public async Task<HashSet<int>> FindAsync(CancellationToken cancellationToken)
    {
        // In this order: a mark assigned in between is not among them.
        var highest = (await database.GetHighestIdsAsync(cancellationToken)).Mark;
        var alive = (await loads.ListLoadsAsync(null, cancellationToken)).Where(load => !load.Removing).Select(load => load.Mark);
        return [.. Enumerable.Range(1, highest).Except(alive)];
    }

    /// <param name="ofRanges">Whether the table holds hashes.</param>
    /// <returns>Number of entities that had the mark.</returns>
    public async Task<long> RemoveAsync(
        int mark, TablePart part, bool ofRanges, ResiliencePipeline retry, CancellationToken cancellationToken)
    {
        var changed = 0L;
        string? token = null;
        do
        {
            var page = await retry.ExecuteAsync(async stop => ofRanges
                ? await tables.Ranges(part.Place).RemoveMarkAsync(mark, part.Number, token, stop)
                : await tables.Accounts(part.Place).RemoveMarkAsync(mark, part.Number, token, stop), cancellationToken);
            changed += page.Changed;
            token = page.Token;
        }
        while (token is not null);
        return changed;
    }
}
