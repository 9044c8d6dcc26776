namespace HibpIngest.Pipeline.Upsert;

/// <summary>
/// Transactions with room for more rows, of all slices that this process is upserting. The slice that sends one takes along what other
/// slices of the load have for the same partition: most domains have a few accounts in a slice, and a request costs more than they do.
/// </summary>
internal sealed class SharedTransactions
{
    private readonly Lock _lock = new();
    private readonly Dictionary<Key, List<Offer>> _offers = [];

    /// <summary>Offers a transaction to other slices, until <see cref="SendAsync"/> or <see cref="Withdraw"/>.</summary>
    /// <returns>Null if it has no room for more rows.</returns>
    public Offer? Add(LoadId load, TablePlace place, SliceTransaction transaction)
    {
        if (transaction.Rows.Length >= IAccountTable.MaxTransactionEntities)
            return null;
        var offer = new Offer(new Key(load, place, Encoding.ASCII.GetString(transaction.Partition.Span)), transaction);
        lock (_lock)
        {
            if (!_offers.TryGetValue(offer.Key, out var offers))
                _offers.Add(offer.Key, offers = new List<Offer>(1));
            offers.Add(offer);
        }
        return offer;
    }

    /// <summary>
    /// Sends an offered transaction together with others, or waits until another slice has sent it. If that one fails or is stopped, sends
    /// the offered rows by themselves, as if the joint transaction is refused, since it may be for a row of another slice.
    /// </summary>
    public async Task SendAsync(Offer offer, Func<SliceTransaction, Task> send, TransactionsInFlight inFlight)
    {
        if (Take(offer) is not var (joint, others))
        {
            if (!await IsSentAsync(offer.Sent!.Task, inFlight))
                await send(offer.Transaction);
            return;
        }
        var sent = false;
        try
        {
            await send(joint);
            sent = true;
        }
        catch (StoreRefusedException) when (others.Count > 0)
        {
            // Sent once more below.
        }
        finally
        {
            foreach (var other in others)
            {
                if (sent)
                    other.Sent!.SetResult();
                else
                    other.Sent!.SetCanceled(CancellationToken.None);
            }
        }
        if (!sent)
            await send(offer.Transaction);
    }

    public void Withdraw(IEnumerable<Offer?> offers)
    {
        lock (_lock)
        {
            foreach (var offer in offers)
            {
                if (offer is { IsOffered: true })
                    Remove(offer);
            }
        }
    }

    // The sender may be waiting for a busy partition, so this steps aside as it does.
    private static async Task<bool> IsSentAsync(Task sent, TransactionsInFlight inFlight)
    {
        var aside = !sent.IsCompleted && inFlight.TryStepAside();
        await sent.WaitAsync(inFlight.StopWaiting).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (aside)
            inFlight.ComeBack();
        return sent.IsCompletedSuccessfully;
    }

    /// <returns>Null if another slice has taken it.</returns>
    private (SliceTransaction Joint, IReadOnlyList<Offer> Others)? Take(Offer offer)
    {
        lock (_lock)
        {
            if (offer.Sent is not null)
                return null;
            Remove(offer);
            if (!_offers.TryGetValue(offer.Key, out var waiting))
                return (offer.Transaction, []);
            var joint = new JointRows(offer.Transaction);
            var others = waiting.Where(other => joint.TryAdd(other.Transaction)).ToList();
            // The rows are copied, since the buffers of the other slices may be returned before the transaction is sent.
            var transaction = joint.ToTransaction();
            foreach (var other in others)
            {
                other.Sent = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                Remove(other);
            }
            return (transaction, others);
        }
    }

    private void Remove(Offer offer)
    {
        offer.IsOffered = false;
        var offers = _offers[offer.Key];
        offers.Remove(offer);
        if (offers.Count == 0)
            _offers.Remove(offer.Key);
    }

    internal readonly record struct Key(LoadId Load, TablePlace Place, string Partition);

    internal sealed class Offer(Key key, SliceTransaction transaction)
    {
        public Key Key => key;

        public SliceTransaction Transaction => transaction;

        public bool IsOffered { get; set; } = true;

        /// <summary>Ends when the slice that took it has sent it, or is cancelled if that fails. Null if no other has taken it.</summary>
        public TaskCompletionSource? Sent { get; set; }
    }

    private sealed class JointRows(SliceTransaction first)
    {
        private readonly List<SliceTransaction> _parts = [first];
        private HashSet<int>? _hashes;
        private int _count = first.Rows.Length;

        /// <summary>
        /// Returns false if there is no room, or if a row may be there already, as past the dedupe cap: no transaction may have it twice.
        /// </summary>
        public bool TryAdd(SliceTransaction part)
        {
            if (_count + part.Rows.Length > IAccountTable.MaxTransactionEntities)
                return false;
            if (_hashes is null)
                AddHashes(_hashes = [], first);
            if (!AddHashes(_hashes, part))
                return false;
            _parts.Add(part);
            _count += part.Rows.Length;
            return true;
        }

        public SliceTransaction ToTransaction()
        {
            if (_parts.Count == 1)
                return first;
            var (rows, bytes) = (new List<Range>(_count), new List<byte>());
            foreach (var part in _parts)
            {
                foreach (var row in part.Rows.Span)
                {
                    var start = bytes.Count;
                    bytes.AddRange(part.Bytes.Span[row]);
                    rows.Add(start..bytes.Count);
                }
            }
            return first with { Rows = rows.ToArray(), Bytes = bytes.ToArray() };
        }

        private static bool AddHashes(HashSet<int> hashes, SliceTransaction part)
        {
            foreach (var row in part.Rows.Span)
            {
                var hash = new HashCode();
                hash.AddBytes(part.Bytes.Span[row]);
                if (!hashes.Add(hash.ToHashCode()))
                    return false;
            }
            return true;
        }
    }
}
