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
    /// the offered rows by themselves. So does the sender if the joint transaction is refused: another slice's row may be the reason.
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
            foreach (var offer in offers.OfType<Offer>())
                Remove(offer);
        }
    }

    // The sender may be waiting for a busy partition, so this steps aside as it does.
    private static async Task<bool> IsSentAsync(Task sent, TransactionsInFlight inFlight)
    {
        if (!sent.IsCompleted)
            await inFlight.StepAsideAsync(sent.WaitAsync(inFlight.StopWaiting)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
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
            // The rows are copied, since the buffers of the other slices may be returned before the transaction is sent.
            var joint = new JointRows();
            if (!joint.TryAdd(offer.Transaction))
                return (offer.Transaction, []);
            var others = waiting.Where(other => joint.TryAdd(other.Transaction)).ToList();
            var transaction = joint.ToTransaction(offer.Transaction);
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
        if (_offers.TryGetValue(offer.Key, out var offers) && offers.Remove(offer) && offers.Count == 0)
            _offers.Remove(offer.Key);
    }

    internal readonly record struct Key(LoadId Load, TablePlace Place, string Partition);

    internal sealed class Offer(Key key, SliceTransaction transaction)
    {
        public Key Key => key;

        public SliceTransaction Transaction => transaction;

        /// <summary>Ends when the slice that took it has sent it, or is cancelled if that fails. Null if no other has taken it.</summary>
        public TaskCompletionSource? Sent { get; set; }
    }

    private sealed class JointRows
    {
        private readonly List<Range> _rows = [];
        private readonly List<byte> _bytes = [];
        private readonly HashSet<int> _hashes = [];

        /// <summary>
        /// Returns false if there is no room, or if a row may be there already, as past the dedupe cap: no transaction may have it twice.
        /// </summary>
        public bool TryAdd(SliceTransaction part)
        {
            var bytes = part.Bytes.Span;
            if (_rows.Count + part.Rows.Length > IAccountTable.MaxTransactionEntities)
                return false;
            foreach (var row in part.Rows.Span)
            {
                var hash = new HashCode();
                hash.AddBytes(bytes[row]);
                if (!_hashes.Add(hash.ToHashCode()))
                    return false;
            }
            foreach (var row in part.Rows.Span)
            {
                _rows.Add(_bytes.Count..(_bytes.Count + bytes[row].Length));
                _bytes.AddRange(bytes[row]);
            }
            return true;
        }

        public SliceTransaction ToTransaction(SliceTransaction first) => first with { Rows = _rows.ToArray(), Bytes = _bytes.ToArray() };
    }
}
