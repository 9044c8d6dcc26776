using System.Text;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// The hashes in a slice whose accounts clients were already called about, because of loads that this load replaces. One point read for
/// each watched hash.
/// </summary>
/// <param name="marks">Marks of the replaced loads; at least one.</param>
/// <param name="facts">Facts of the layout that is read.</param>
internal sealed class ReportedHashes(IReadOnlyList<int> marks, LayoutFacts facts, IStoreTables tables)
{
    private const int ReadsAtOnce = 32;

    private readonly LayoutPlacement _placement = new(facts);
    private readonly Dictionary<int, bool> _told = [];

    /// <summary>Returns whether clients were called about a hash, which must have been looked up.</summary>
    public bool Contains(int hash) => _told[hash];

    /// <summary>Looks up the hashes that a client watches, except those that were looked up before.</summary>
    public async Task LookUpAsync(HashedAccounts accounts, PrefixBitmap watched, CancellationToken cancellationToken)
    {
        var hits = Enumerable.Range(0, accounts.Count).Where(
            hash => watched.Contains(accounts.PrefixOf(hash)) && !_told.ContainsKey(hash)).ToList();
        var reading = new ParallelOptions { MaxDegreeOfParallelism = ReadsAtOnce, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(hits, reading, async (hash, token) =>
        {
            var account = accounts.AccountOf(hash);
            var alias = Encoding.ASCII.GetString(accounts.Accounts.Alias(account));
            var place = _placement.Find(alias, Encoding.ASCII.GetString(accounts.Accounts.Domain(account)));
            var has = await tables.AccountReads(new TablePlace(place.StorageAccount, facts.AccountsTable)).GetMarksAsync(
                place.Partition, alias, marks.Max(), token);
            lock (_told)
                _told[hash] = has.Intersect(marks).Any();
        });
    }
}
