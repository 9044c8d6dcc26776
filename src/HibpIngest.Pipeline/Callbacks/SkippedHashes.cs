namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// Hashes in a slice that clients are not called about: because they were for replaced loads, or because of opt-outs. One point read each.
/// </summary>
internal sealed class SkippedHashes(IReadOnlyList<int> marks, LayoutFacts facts, IStoreTables tables)
{
    private const int ReadsAtOnce = 32;

    private readonly LayoutPlacement _placement = new(facts);
    private readonly Dictionary<int, bool> _skipped = [];

    /// <param name="hash">Must have been looked up.</param>
    public bool Contains(int hash) => _skipped[hash];

    public async Task LookUpAsync(HashedAccounts accounts, PrefixBitmap watched, CancellationToken cancellationToken)
    {
        var hits = Enumerable.Range(0, accounts.Count).Where(
            hash => watched.Contains(accounts.PrefixOf(hash)) && !_skipped.ContainsKey(hash)).ToList();
        await Parallel.ForEachAsync(hits, Parallelism.Of(ReadsAtOnce, cancellationToken), async (hash, token) =>
        {
            var has = await tables.GetMarksAsync(
                facts, _placement, accounts.Accounts.ToAccount(accounts.AccountOf(hash)), marks.DefaultIfEmpty().Max(), token);
            lock (_skipped)
                _skipped[hash] = OptOut.Hides(has, fromOwner: false) || has.Intersect(marks).Any();
        });
    }
}
