namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Hashes in a slice whose accounts clients were called about because of replaced loads. One point read each.</summary>
internal sealed class ReportedHashes(IReadOnlyList<int> marks, LayoutFacts facts, IStoreTables tables)
{
    private const int ReadsAtOnce = 32;

    private readonly LayoutPlacement _placement = new(facts);
    private readonly Dictionary<int, bool> _reported = [];

    /// <param name="hash">Must have been looked up.</param>
    public bool Contains(int hash) => _reported[hash];

    /// <summary>Looks up the hashes that a client watches, except those that were looked up before.</summary>
    public async Task LookUpAsync(HashedAccounts accounts, PrefixBitmap watched, CancellationToken cancellationToken)
    {
        var hits = Enumerable.Range(0, accounts.Count).Where(
            hash => watched.Contains(accounts.PrefixOf(hash)) && !_reported.ContainsKey(hash)).ToList();
        await Parallel.ForEachAsync(hits, Parallelism.Of(ReadsAtOnce, cancellationToken), async (hash, token) =>
        {
            var account = accounts.AccountOf(hash);
            var alias = Encoding.ASCII.GetString(accounts.Accounts.Alias(account));
            var place = _placement.Find(alias, Encoding.ASCII.GetString(accounts.Accounts.Domain(account)));
            var has = await tables.AccountReads(new TablePlace(place.StorageAccount, facts.AccountsTable)).GetMarksAsync(
                place.Partition, alias, marks.Max(), token);
            lock (_reported)
                _reported[hash] = has.Intersect(marks).Any();
        });
    }
}
