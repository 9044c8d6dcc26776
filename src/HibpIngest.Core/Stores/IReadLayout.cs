namespace HibpIngest.Stores;

/// <summary>Which layout is read, without asking the database.</summary>
public interface IReadLayout
{
    /// <summary>The layout that is read now; null where the store has none yet.</summary>
    Task<StoreLayout?> GetReadLayoutAsync(CancellationToken cancellationToken);
}
