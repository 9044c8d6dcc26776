namespace HibpIngest.Stores;

/// <summary>Which loads are open, without asking the database.</summary>
public interface IOpenLoads
{
    /// <summary>Marks a load as open; again gives the mark a new version.</summary>
    Task MarkOpenAsync(long load, CancellationToken cancellationToken);

    /// <summary>The open loads, each with the version of its mark.</summary>
    Task<IReadOnlyList<(long Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken);

    /// <summary>Takes a mark away unless it has been set again since that version was read.</summary>
    Task ClearOpenAsync(long load, string version, CancellationToken cancellationToken);
}
