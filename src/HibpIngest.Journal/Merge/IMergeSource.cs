namespace HibpIngest.Journal.Merge;

/// <summary>A load whose rows are merged with those of others: from the account log or from SQL.</summary>
public interface IMergeSource
{
    /// <summary>Known after <see cref="FindLargeDomainsAsync"/>.</summary>
    long Rows { get; }

    /// <summary>Returns the domains that may have to be split, with their rows; the same on every call.</summary>
    Task<IReadOnlyList<LargeDomain>> FindLargeDomainsAsync(CancellationToken cancellationToken);

    /// <summary>Passes every row to the visitor, grouped by domain.</summary>
    /// <param name="shown">Receives the number of rows passed since its last call.</param>
    /// <exception cref="DamagedSegmentException">A segment is damaged.</exception>
    /// <exception cref="Errors.StoreMissingException">A segment is missing.</exception>
    Task ReadAsync<T>(T visitor, Action<long> shown, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor;
}
