namespace HibpIngest.Stores;

/// <summary>The open loads, without access to the database.</summary>
public interface IOpenLoads
{
    /// <summary>Marks a load as open. Repeating it gives the mark a new version.</summary>
    Task MarkOpenAsync(long load, CancellationToken cancellationToken);

    /// <summary>Returns the open loads, each with the version of its mark.</summary>
    Task<IReadOnlyList<(long Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken);

    /// <summary>Clears a mark, unless it was set again after that version was read.</summary>
    Task ClearOpenAsync(long load, string version, CancellationToken cancellationToken);
}
