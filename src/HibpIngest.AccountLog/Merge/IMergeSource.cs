namespace HibpIngest.AccountLog;

/// <summary>A load whose rows are merged with others': from the account log, or from SQL.</summary>
public interface IMergeSource
{
    /// <summary>How many it has; known once its large domains are.</summary>
    long Rows { get; }

    /// <summary>The domains that may have to be split, with their rows; the same whenever it is asked.</summary>
    Task<IReadOnlyList<LargeDomain>> FindLargeDomainsAsync(CancellationToken cancellationToken);

    /// <summary>Shows every row, in groups of one domain.</summary>
    /// <param name="shown">Told of rows that were shown.</param>
    /// <exception cref="DamagedSegmentException">A segment is damaged, or missing.</exception>
    Task ReadAsync<T>(T visitor, Action<long> shown, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor;
}
