using System.Runtime.ExceptionServices;

namespace HibpIngest.Pipeline.Upsert;

/// <summary>
/// One attempt to upsert a slice under its lease. Waits for transactions in flight before it ends, so that the recorded progress is exact.
/// </summary>
public sealed class SliceRun : IStageWork
{
    private readonly SliceStores _stores;
    private readonly UpsertOptions _options;
    private readonly TimeProvider _time;
    private readonly long _began;

    private readonly TimeSpan _timeout;
    private readonly CancellationTokenSource _timeLimit;
    private readonly RenewingLease _lease;
    private readonly CancellationTokenSource _cancelInFlight;
    private readonly CancellationTokenSource _stopStarting;

    private readonly Lock _lock = new();
    private byte[]? _done;
    private ExceptionDispatchInfo? _failure;

    internal SliceRun(
        SliceClaim claim, ISlices slices, SliceStores stores, UpsertOptions options, TimeSpan planLimit, TimeProvider time,
        CancellationToken cancellationToken)
    {
        (Work, Owner, MaxTries, _stores, _options) = (claim.Work, claim.Owner, claim.MaxTries, stores, options);
        (_time, _began) = (time, time.GetTimestamp());
        // Half of the limit: the rest is left for transactions in flight, and for messages that wait in the same invocation.
        _timeout = planLimit > TimeSpan.Zero ? planLimit / 2 : Timeout.InfiniteTimeSpan;
        _timeLimit = new CancellationTokenSource(_timeout, time);
        // The lease is renewed as long as a transaction is in flight; each renewal records the progress.
        _lease = new RenewingLease(
            options.SliceLease / 3,
            ended => slices.RenewSliceAsync(Work.Slice.Load, Work.Slice.Number, Owner, options.SliceLease, Progress, ended),
            time, cancellationToken, FailAsync);
        _cancelInFlight = CancellationTokenSource.CreateLinkedTokenSource(_lease.Token);
        _stopStarting = CancellationTokenSource.CreateLinkedTokenSource(_cancelInFlight.Token, _timeLimit.Token);
    }

    public SliceWork Work { get; private set; }

    public string Owner { get; }

    public int MaxTries { get; }

    /// <summary>Time since the attempt began.</summary>
    public TimeSpan Elapsed => _time.GetElapsedTime(_began);

    internal bool IsCompleted { get; set; }

    /// <summary>True if another owner has acquired the slice, or nothing of its load may be written any more.</summary>
    public bool IsLost => _lease.IsLost;

    public LoadId LoadId => Work.Slice.Load;

    public string Breach => Work.Breach;

    // 0 (not counted) for a failed slice: it is redelivered only after an operator has requeued it.
    public int Attempts => Work.Slice.State == SliceState.Failed ? 0 : Work.Slice.Attempts;

    /// <summary>The completed transactions. Null until the rows are grouped: the recorded progress stays.</summary>
    public SliceProgress? Progress
    {
        get
        {
            lock (_lock)
            {
                return _done is null ? null
                    : new SliceProgress(SliceBuffers.OrderVersion, [.. _done]) { LayoutVersion = Work.Layouts.Version };
            }
        }
    }

    internal void StartOver(LayoutSet layouts)
    {
        lock (_lock)
            (Work, _done) = (Work with { Layouts = layouts, Progress = null }, null);
    }

    /// <summary>Reads the rows and upserts what is not done yet. Returns the slice's number of entities.</summary>
    public async Task<int> UpsertAsync()
    {
        var slice = Work.Slice;
        var rows = SliceBuffers.Rent(slice.Count);
        try
        {
            await _stores.Rows.ReadAsync(slice, Work.Mark, Work.Purged, rows.Accounts, _cancelInFlight.Token);
            Work.Layouts.RequireKnown();
            var layouts = Work.Layouts.Written;
            await UpsertAsync(rows, rows.Group([.. layouts.Select(SliceLayout.Of)]), [.. layouts.Select(layout => layout.Facts)]);
            return rows.Entities;
        }
        finally
        {
            SliceBuffers.Return(rows);
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _lease.DisposeAsync();
        foreach (var source in (CancellationTokenSource[])[_stopStarting, _cancelInFlight, _timeLimit])
            source.Dispose();
    }

    private async Task UpsertAsync(SliceBuffers rows, int transactions, LayoutFacts[] layouts)
    {
        var done = new byte[(transactions + 7) / 8];
        if (Work.Progress is { OrderVersion: SliceBuffers.OrderVersion } before
            && before.LayoutVersion == Work.Layouts.Version && before.Done.Length == done.Length)
            before.Done.CopyTo(done, 0);
        lock (_lock)
            _done = done;

        var inFlight = new TransactionsInFlight(_options.TransactionsInFlight, _stopStarting.Token);
        var running = new RunningCount();
        var offers = new SharedTransactions.Offer?[transactions];
        var next = 0;
        try
        {
            for (var i = 0; i < transactions; i++)
            {
                if (!IsDone(done, i) && rows.Transaction(i) is var transaction)
                    offers[i] = _stores.Shared.Add(Work.Slice.Load, PlaceOf(transaction, layouts), transaction);
            }
            for (; next < transactions; next++)
            {
                if (IsDone(done, next))
                    continue;
                await inFlight.EnterAsync();
                running.Add();
                var index = next; // the loop's variable changes while the task runs
                _ = Task.Run(() => TransactAsync(rows, layouts, index, offers[index], done, inFlight, running), CancellationToken.None);
            }
        }
        catch (OperationCanceledException) when (_stopStarting.IsCancellationRequested)
        {
            // Transactions in flight end first.
        }
        finally
        {
            await running.EndAsync();
            _stores.Shared.Withdraw(offers);
        }

        _cancelInFlight.Token.ThrowIfCancellationRequested();
        _failure?.Throw();
        if (next < transactions)
            throw new StoreThrottledException(
                $"not all of its transactions were completed within {_timeout}, half of HIBP_PLANLIMIT; the completed ones are kept");
    }

    private async Task TransactAsync(
        SliceBuffers rows, LayoutFacts[] layouts, int index, SharedTransactions.Offer? offer, byte[] done, TransactionsInFlight inFlight,
        RunningCount running)
    {
        try
        {
            await (offer is null ? SendAsync(rows.Transaction(index)) : _stores.Shared.SendAsync(offer, SendAsync, inFlight));
            lock (_lock)
                done[index / 8] |= (byte)(1 << (index % 8));

            Task SendAsync(SliceTransaction transaction)
            {
                var place = PlaceOf(transaction, layouts);
                var (partition, keys, bytes) = (transaction.Partition, transaction.Rows, transaction.Bytes);
                return transaction.OfRanges
                    ? _stores.Tables.Ranges(place).UpsertAsync(partition, keys, bytes, Work.Mark, inFlight, _cancelInFlight.Token)
                    : _stores.Tables.Accounts(place).UpsertAsync(partition, keys, bytes, Work.Mark, inFlight, _cancelInFlight.Token);
            }
        }
        catch (Exception e)
        {
            await FailAsync(e);
        }
        finally
        {
            inFlight.Leave();
            running.Remove();
        }
    }

    private static TablePlace PlaceOf(SliceTransaction transaction, LayoutFacts[] layouts)
    {
        var facts = layouts[transaction.Layout];
        return new TablePlace(transaction.StorageAccount, transaction.OfRanges ? facts.RangesTable : facts.AccountsTable);
    }

    /// <summary>Records the first failure only: later ones may be its consequence.</summary>
    private async Task FailAsync(Exception error)
    {
        Interlocked.CompareExchange(ref _failure, ExceptionDispatchInfo.Capture(error), null);
        await _stopStarting.CancelAsync();
    }

    private bool IsDone(byte[] done, int index)
    {
        lock (_lock)
            return (done[index / 8] & (1 << (index % 8))) != 0;
    }

    private sealed class RunningCount
    {
        private readonly TaskCompletionSource _none = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _count = 1; // held by the loop that starts transactions, until EndAsync

        public void Add() => Interlocked.Increment(ref _count);

        public void Remove()
        {
            if (Interlocked.Decrement(ref _count) == 0)
                _none.SetResult();
        }

        /// <summary>Completes when all have ended; none may be added after this call.</summary>
        public Task EndAsync()
        {
            Remove();
            return _none.Task;
        }
    }
}
