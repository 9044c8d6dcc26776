using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Marks under which nothing is to be written any more, and their taking off what was written meanwhile.</summary>
internal sealed class DeadMarks(ILoads loads, IDatabaseSetup database, IStoreTables tables)
{
    /// <summary>Those that no load has, or one that is being removed.</summary>
    public async Task<HashSet<int>> FindAsync(CancellationToken cancellationToken)
    {
        // In this order: a mark that is given in between is none of them.
        var highest = (await database.GetHighestIdsAsync(cancellationToken)).Mark;
        var alive = (await loads.ListLoadsAsync(null, cancellationToken)).Where(load => !load.Removing).Select(load => load.Mark);
        return [.. Enumerable.Range(1, highest).Except(alive)];
    }

    /// <summary>Takes a mark off a part of a table of hashes, or of accounts.</summary>
    /// <param name="mark">Which.</param>
    /// <param name="part">Where.</param>
    /// <param name="ofRanges">It is one of hashes.</param>
    /// <param name="call">Makes a call, patiently.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <returns>Entities that had it.</returns>
    public async Task<long> RemoveAsync(
        int mark, TablePart part, bool ofRanges, Func<Func<Task<MarkPage>>, Task<MarkPage>> call, CancellationToken cancellationToken)
    {
        var changed = 0L;
        string? token = null;
        do
        {
            var page = await call(() => ofRanges
                ? tables.Ranges(part.Place).RemoveMarkAsync(mark, part.Number, token, cancellationToken)
                : tables.Accounts(part.Place).RemoveMarkAsync(mark, part.Number, token, cancellationToken));
            changed += page.Changed;
            token = page.Token;
        }
        while (token is not null);
        return changed;
    }
}
