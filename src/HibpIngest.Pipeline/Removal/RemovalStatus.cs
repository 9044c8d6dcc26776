using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Pipeline.Removal;

public sealed class RemovalStatus(ICatalogue removals, ILayouts layouts)
{
    /// <summary>Lists the removals that are not complete, by breach. Doesn't show whether a process is working on them.</summary>
    public async Task<IReadOnlyList<OpenRemoval>> ListAsync(CancellationToken cancellationToken)
    {
        var loads = await removals.ListRemovalsAsync(cancellationToken);
        if (loads.Count == 0)
            return [];
        var tableParts = (await layouts.GetLayoutsAsync(cancellationToken)).Written.Sum(
            layout => TablePart.Of(layout.Facts, layout.WritesRanges).Count);
        return [.. loads.GroupBy(one => one.Breach, one => one.Load).Select(breach =>
        {
            // Loads without rows need no work, so they have no weight.
            var rows = breach.Sum(load => load.Last);
            var done = breach.Sum(load => load.Last * DoneShareOf(load, tableParts));
            return new OpenRemoval(breach.Key, [.. breach.Select(load => load.Load)], rows > 0 ? done / rows : 0);
        })];
    }

    // 0 to 1: by the deleted rows, or, if the rows were purged before, by the parts of the tables that were scanned.
    private static double DoneShareOf(LoadRemoval load, int tableParts) =>
        load.RowsPurged && load is { Mark: > 0, SharesMark: false }
            ? Math.Min((double)TableScan.Parse(load.Token).PartsDone / tableParts, 1)
            : load.Last > 0 ? Math.Clamp((double)(load.First - 1) / load.Last, 0, 1) : 0;
}

/// <param name="Part">Part of their accounts that is done, 0 to 1.</param>
public sealed record OpenRemoval(string Breach, IReadOnlyList<LoadId> Loads, double Part);
