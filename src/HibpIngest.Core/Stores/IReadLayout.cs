namespace HibpIngest.Stores;

/// <summary>Which layout is read, without asking the database.</summary>
public interface IReadLayout
{
    /// <summary>
    /// So long after a switch no reader goes by the layout from before: they look every 10 seconds (20 where nothing
    /// keeps looking), for 5 at most; and as much again for clocks.
    /// </summary>
    static readonly TimeSpan SeenWithin = TimeSpan.FromMinutes(1);

    /// <summary>The layout that is read now; null where the store has none yet.</summary>
    Task<StoreLayout?> GetReadLayoutAsync(CancellationToken cancellationToken);
}
