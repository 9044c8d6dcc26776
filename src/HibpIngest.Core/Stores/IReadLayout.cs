namespace HibpIngest.Stores;

/// <summary>The layout that is read, without access to the database.</summary>
public interface IReadLayout
{
    /// <summary>
    /// Time after a switch until no reader uses the previous layout: readers revalidate every 10 seconds (20 without a background refresh),
    /// with a timeout of 5 seconds; plus the same again for clock differences.
    /// </summary>
    static readonly TimeSpan SeenWithin = TimeSpan.FromMinutes(1);

    /// <returns>Null if the store has none yet.</returns>
    Task<StoreLayout?> GetReadLayoutAsync(CancellationToken cancellationToken);
}
