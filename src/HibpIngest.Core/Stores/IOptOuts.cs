namespace HibpIngest.Stores;

/// <summary>
/// The addresses that their owners have had hidden: from here they are applied to layouts that are rebuilt, and to ranges that are
/// backfilled. Kept by address, as the account tables are: the entities that hide it must be found again.
/// </summary>
public interface IOptOuts
{
    /// <summary>Records an opt-out, or its end; the last one of an address is effective.</summary>
    Task PutOptOutAsync(OptOut optOut, CancellationToken cancellationToken);

    /// <returns><see cref="OptOutLevel.None"/> if none is recorded.</returns>
    Task<OptOutLevel> GetOptOutAsync(Account account, CancellationToken cancellationToken);

    /// <summary>Returns all opt-outs, without those that have ended.</summary>
    IAsyncEnumerable<OptOut> ListOptOutsAsync(CancellationToken cancellationToken);
}
