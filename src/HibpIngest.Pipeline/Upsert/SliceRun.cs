using System.Runtime.ExceptionServices;

namespace HibpIngest.Pipeline.Upsert;

/// <summary>One attempt of a slice under its lease. It ends only after its transactions in flight, so the progress is exact.</summary>
public sealed class SliceRun : IStageWork
{
    private readonly SliceStores _stores;
    private readonly UpsertOptions _options;
    private readonly TimeProvider _time;
    private readonly long _began;

    private readonly TimeSpan _timeout;
    private readonly CancellationTokenSource _limit;
    private readonly RenewingLease _lease;
    private readonly CancellationTokenSource _halt; // cancels transactions in flight
    private readonly CancellationTokenSource _stop; // starts no further transactions, and ends waits

    private readonly Lock _lock = new();
    private byte[]? _done;
    private ExceptionDispatchInfo? _failure;

    internal SliceRun(
        SliceClaim claim, ISlices slices, SliceStores stores, UpsertOptions options, TimeSpan planLimit, TimeProvider time,
        CancellationToken cancellationToken)
    {
        (Work, Owner, MaxTries, _stores, _options) = (claim.Work, claim.Owner, claim.MaxTries, stores, options);
        (_time, _began) = (time, time.GetTimestamp());
        // The other half is for work that can no longer be stopped, and for messages that wait in the same invocation.
        _timeout = planLimit > TimeSpan.Zero ? planLimit / 2 : Timeout.InfiniteTimeSpan;
        _limit = new CancellationTokenSource(_timeout, time);
        // The lease is renewed as long as a transaction is in flight; each renewal records the progress.
        _lease = new RenewingLease(
            options.SliceLease / 3,
            ended => slices.RenewSliceAsync(Work.Slice.Load, Work.Slice.Number, Owner, options.SliceLease, Progress, ended),
            time, cancellationToken, FailAsync);
        _halt = CancellationTokenSource.CreateLinkedTokenSource(_lease.Token);
        _stop = CancellationTokenSource.CreateLinkedTokenSource(_halt.Token, _limit.Token);
    }

    public SliceWork Work { get; private set; }

    public string Owner { get; }

    public int MaxTries { get; }

    /// <summary>Time since the attempt began.</summary>
    public TimeSpan Elapsed => _time.GetElapsedTime(_began);

    internal bool IsCompleted { get; set; }

    /// <summary>True if another owner has the slice by now, or nothing of its load may be written any more.</summary>
    public bool IsLost => _lease.IsLost;

    public long LoadId => Work.Slice.Load;

    public string Breach => Work.Breach;

    // A failed slice that is redelivered was requeued by an operator, so its attempts don't count.
    public int Attempts => Work.Slice.State == SliceState.Failed ? 0 : Work.Slice.Attempts;

    /// <summary>The progress; null: as recorded before.</summary>
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
            await _stores.Rows.ReadAsync(slice, Work.Mark, Work.Purged, rows.Accounts, _halt.Token);
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
        foreach (var source in (CancellationTokenSource[])[_stop, _halt, _limit])
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

        var inFlight = new TransactionsInFlight(_options.TransactionsInFlight, _stop.Token);
        var running = new RunningCount();
        var left = 0;
        try
        {
            for (left = transactions; left > 0; left--)
            {
                var next = transactions - left;
                if (IsDone(done, next))
                    continue;
                await inFlight.EnterAsync();
                running.Add();
                _ = Task.Run(() => TransactAsync(rows, layouts, next, done, inFlight, running), CancellationToken.None);
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            // Transactions in flight end first.
        }
        await running.EndAsync();

        _halt.Token.ThrowIfCancellationRequested();
        _failure?.Throw();
        if (left > 0)
            throw new StoreThrottledException(
                $"its transactions were not all done within {_timeout}, half of HIBP_PLANLIMIT; those that are done are kept");
    }

    private async Task TransactAsync(
        SliceBuffers rows, LayoutFacts[] layouts, int index, byte[] done, TransactionsInFlight inFlight, RunningCount running)
    {
        try
        {
            var (layout, ofRanges, account, partition, keys, bytes) = rows.Transaction(index);
            await (ofRanges
                ? _stores.Tables.Ranges(new TablePlace(account, layouts[layout].RangesTable))
                    .UpsertAsync(partition, keys, bytes, Work.Mark, inFlight, _halt.Token)
                : _stores.Tables.Accounts(new TablePlace(account, layouts[layout].AccountsTable))
                    .UpsertAsync(partition, keys, bytes, Work.Mark, inFlight, _halt.Token));
            lock (_lock)
                done[index / 8] |= (byte)(1 << (index % 8));
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

    /// <summary>Records the first failure only: later ones may be its consequence.</summary>
    private async Task FailAsync(Exception error)
    {
        Interlocked.CompareExchange(ref _failure, ExceptionDispatchInfo.Capture(error), null);
        await _stop.CancelAsync();
    }

    private bool IsDone(byte[] done, int index)
    {
        lock (_lock)
            return (done[index / 8] & (1 << (index % 8))) != 0;
    }

    private sealed class RunningCount
    {
        private readonly TaskCompletionSource _none = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _count = 1; // the loop that starts them

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
