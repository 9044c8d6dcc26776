using System.Text;
using HibpIngest.Clients;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Which hashes of a slice are of accounts that clients were called of already, because of loads that its own replaces: one point read
/// each, of those that somebody watches.
/// </summary>
/// <param name="marks">Of those loads; at least one.</param>
/// <param name="facts">Of the layout that is read.</param>
internal sealed class ToldHashes(IReadOnlyList<int> marks, LayoutFacts facts, ITableReads tables)
{
    private const int ReadsAtOnce = 32;

    private readonly LayoutPlacement _placement = new(facts);
    private readonly Dictionary<int, bool> _told = [];

    /// <summary>It was looked up, and clients were called of it.</summary>
    public bool Contains(int hash) => _told[hash];

    /// <summary>Looks those up that a client watches, and no other that was asked for before.</summary>
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
            var has = await tables.Accounts(new TablePlace(place.StorageAccount, facts.AccountsTable)).GetMarksAsync(
                place.Partition, alias, marks.Max(), token);
            lock (_told)
                _told[hash] = has.Intersect(marks).Any();
        });
    }
}
