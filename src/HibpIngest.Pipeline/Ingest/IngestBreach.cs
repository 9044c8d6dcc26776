using HibpIngest.Archives;

namespace HibpIngest.Pipeline.Ingest;

/// <summary>
/// Copies a blob version's accounts into SQL in batches, and sends each batch's slices as soon as it has committed. Idempotency key: the
/// blob version. A redelivery finds the load recorded: if another ingester holds its lease, the message is deferred until that lease ends;
/// if the load was interrupted, it resumes after the last checkpoint; if it is finished, nothing is done. One ingest runs in a process at
/// a time, because its dedupe set may take most of the memory.
/// </summary>
public sealed class IngestBreach(
    LoadStart starts, LoadLeases leases, LoadCopy copy, LoadReports reports, PipelineMessages messages, TimeProvider time,
    ILogger<IngestBreach> log) : IStage<IngestMessage, LoadLease>
{
    // Waiting uses up the invocation's time. Of the 10 minutes of a Functions plan, HIBP_PLANLIMIT takes 9.5 (8 of HIBP_TIMEBUDGET and
    // 90 s): 30 s are left. After IngestSlotTimeout the message is sent back to its queue, where another process may receive it.
    private static readonly TimeSpan IngestSlotTimeout = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan RedeliveryDelay = TimeSpan.FromSeconds(30);

    private readonly SemaphoreSlim _ingestSlot = new(1);

    public async Task<LoadLease?> ClaimAsync(IngestMessage message, CancellationToken cancellationToken)
    {
        if (message.Load == 0 && await starts.WasStartedAsync(message.BlobVersion, cancellationToken))
        {
            if (await starts.FindIngestingAsync(message.BlobVersion, cancellationToken) is not { } known)
                return null;
            message = message with { Blob = null, ETag = null, Load = known.Value };
        }
        if (!await TryAcquireSlotAsync(cancellationToken))
        {
            IngestLog.SlotBusy(log, RedeliveryDelay);
            await messages.SendAsync(message, RedeliveryDelay, CancellationToken.None);
            return null;
        }
        LoadLease? lease = null;
        try
        {
            lease = await ClaimLoadAsync(message, cancellationToken);
            if (lease is not null)
                lease.OnEnd = () => _ingestSlot.Release();
            return lease;
        }
        finally
        {
            if (lease is null)
                _ingestSlot.Release();
        }
    }

    public async Task RunAsync(LoadLease work, CancellationToken cancellationToken)
    {
        var load = work.Load;
        if (!work.IsNew)
            await starts.ReopenAsync(load.Id, cancellationToken);
        CheckFits(load);
        IngestLog.Started(log, load.Id.Value, load.Breach, load.LastPosition + 1);
        // A resumed load is found by its id, so its blob name has not been checked yet, and errors contain that name.
        BreachName.CheckBlob(load.Blob.Name);
        CheckExtractor(load);
        await copy.RunAsync(work, cancellationToken);
    }

    public async Task ReleaseAsync(LoadLease work, Exception cause)
    {
        if (cause is LoadLostException)
            IngestLog.Lost(log, work.Load.Id.Value, cause.Message);
        await leases.ReleaseAsync(work);
    }

    // A defect would recur with the same bytes, so it is recorded on the load, where the operator sees it, and not retried.
    public async Task<bool> FailAsync(LoadLease work, Exception error)
    {
        var load = work.Load;
        var reason = error switch
        {
            BadArchiveException { NeedsPassword: true } when BreachFiles.FormatOf(load.Blob.Name) != BreachFormat.Zip =>
                $"{error.Message}; only zip archives take a password: unpack '{load.Blob.Name}' and drop the encrypted zip itself",
            BadArchiveException { NeedsPassword: true } =>
                $"{error.Message}; give the right password with: hibp load resume {load.Id} --password-stdin",
            BadInputException => error.Message,
            _ => $"unexpected {error.GetType().Name}; see the log, then: hibp load resume {load.Id}",
        };
        await reports.FailAsync(load.Id, load.Blob, work.Owner, reason, superseded: error is BlobSupersededException);
        if (error is BadInputException)
            IngestLog.Failed(log, load.Id.Value, load.Breach, reason);
        else
            IngestLog.Unexpected(log, load.Id.Value, load.Breach, UnexpectedError.Describe(error));
        return false;
    }

    public string DescribeExhaustedRetries(LoadLease work) =>
        $"its ingest was started {work.Load.Attempts - 1} times and ended without a result each time: did the process run out of memory, "
        + $"or reach its plan's time limit? Fix that, then run: hibp load resume {work.Load.Id}; or lower HIBP_DEDUPECAP, then run: hibp "
        + $"load resume {work.Load.Id} --restart";

    private async Task<LoadLease?> ClaimLoadAsync(IngestMessage message, CancellationToken cancellationToken)
    {
        var isNew = message.Load == 0;
        var load = message.LoadId;
        if (isNew)
        {
            var head = await starts.RunAsync(message.BlobVersion, heldBecause: null, cancellationToken);
            if (head is not { State: LoadState.Ingesting, Stopped: false })
                return null;
            load = head.Id;
        }
        var resume = new IngestMessage { Load = load.Value, Traceparent = message.Traceparent };
        var (lease, _) = await leases.ClaimAsync(
            load, LoadState.Ingesting, resume, cancellationToken, onHeld: () => IngestLog.LeaseHeld(log, load.Value));
        lease?.IsNew = isNew;
        return lease;
    }

    private async Task<bool> TryAcquireSlotAsync(CancellationToken cancellationToken)
    {
        using var timeout = new CancellationTokenSource(IngestSlotTimeout, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, timeout.Token);
        try
        {
            await _ingestSlot.WaitAsync(either.Token);
            return true;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return false;
        }
    }

    private static void CheckFits(Load load)
    {
        var fits = DedupeSet.MaxThatFit();
        if (load.Settings.DedupeCap > fits)
        {
            throw new BadInputException($"it was started with a dedupe cap of {load.Settings.DedupeCap} accounts, and this process has "
                + $"memory for {fits}; run 'hibp load resume {load.Id}' on a host with more memory, or 'hibp load resume {load.Id} "
                + "--restart' to start over with the lower cap");
        }
    }

    private static void CheckExtractor(Load load)
    {
        if (load.Settings.ExtractorVersion is < AccountScanner.OldestVersion or > AccountScanner.Version
            || load.Settings.TopLevelDomains != TopLevelDomains.Hash)
        {
            throw new BadInputException($"the load was started with extractor {load.Settings.ExtractorVersion}; extractor "
                + $"{AccountScanner.Version} of this program, or its list of top-level domains, would assign other positions. Start the "
                + $"load over: hibp load resume {load.Id} --restart");
        }
    }
}
