using HibpIngest.Accounts;
using HibpIngest.Archives;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Copies a blob version's accounts into SQL in batches, and sends each batch's slices as soon as it has
/// committed. Its key is the blob version: a second delivery finds the load recorded and either owned by a
/// living ingester (it comes again when that one's lease has ended), or to be gone on with after its last
/// checkpoint, or finished (nothing to do).
/// </summary>
public sealed partial class IngestBreach(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<IngestBreach>();
    private readonly LoadTrace _trace = new(context.Database);

    /// <summary>
    /// Runs until the load is copied, its time budget is used up (it then sends its own continuation), or it
    /// has failed and is recorded so.
    /// </summary>
    public async Task RunAsync(IngestMessage message, CancellationToken cancellationToken)
    {
        var head = message.Load > 0
            ? await context.Database.GetLoadHeadAsync(message.Load, cancellationToken)
            : await StartAsync(new BlobVersion(message.Blob ?? "", message.ETag ?? ""), heldBecause: null, cancellationToken);
        if (head is not { State: LoadState.Ingesting, Stopped: false })
            return;
        if (message.Load > 0)
            await context.Register.MarkOpenAsync(head.Id, cancellationToken);
        var owner = context.NewOwner();
        if (!await context.Database.TryTakeLoadAsync(head.Id, LoadState.Ingesting, owner, context.Options.LoadLease, cancellationToken))
        {
            await WaitForOwnerAsync(head.Id, message, cancellationToken);
            return;
        }
        // That of a continuation has been started with its message.
        using var span = HibpTelemetry.Span is not null ? null : LoadTrace.Start(TelemetryNames.Spans.Load, head.Id, await _trace.FindAsync(head.Id, message.Traceparent, cancellationToken));
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, head.Breach);
        try
        {
            // Read again under the lease: the checkpoint may have moved between the two.
            var load = await context.Database.GetLoadAsync(head.Id, cancellationToken) ?? throw new LoadLostException(head.Id);
            CheckAttempts(load, message.Deferrals);
            LogBegun(load.Id, load.Breach, load.LastPosition + 1);
            await IngestAsync(load, owner, cancellationToken);
        }
        catch (LoadLostException e)
        {
            LogLost(head.Id, e.Message);
        }
        catch (BadInputException e)
        {
            var reason = e is BadArchiveException { NeedsPassword: true } ? $"{e.Message}; give the right one with: hibp resume {head.Id} --password-stdin" : e.Message;
            await context.FailLoadAsync(head, owner, reason, superseded: e is BlobSupersededException);
            LogFailed(head.Id, head.Breach, reason);
        }
        catch (Exception e) when (e is StoreUnavailableException or OperationCanceledException)
        {
            HibpTelemetry.Failed(UnexpectedError.Reason(e));
            // Whoever goes on need not wait for the lease to run out; where the database itself is down, it does run out.
            await IgnoreUnavailableAsync(() => context.Database.ReleaseLoadAsync(head.Id, owner, CancellationToken.None));
            throw;
        }
        catch (Exception e)
        {
            // A defect of ours would meet the same bytes again: say so on the load, where the operator looks,
            // instead of trying forever.
            await context.FailLoadAsync(head, owner, $"unexpected {e.GetType().Name}; see the log, then: hibp resume {head.Id}");
            LogUnexpected(head.Id, head.Breach, UnexpectedError.Describe(e));
        }
    }

    /// <summary>
    /// Somebody has the load, or had it and died. Acknowledging the message would leave the load to Sweep; it
    /// comes again when the lease has ended, and finds which.
    /// </summary>
    private async Task WaitForOwnerAsync(long load, IngestMessage message, CancellationToken cancellationToken)
    {
        if (await context.Database.GetLoadHeadAsync(load, cancellationToken) is not { State: LoadState.Ingesting } head)
            return;
        LogOwnedElsewhere(load);
        var again = new IngestMessage { Load = load, Traceparent = message.Traceparent };
        await context.SendAfterLeaseAsync(QueueNames.Ingest, again, head.LeaseExpiresAt, context.Options.LoadLease, cancellationToken);
    }

    /// <summary>
    /// Records a blob version whose name may be an address as a load that failed by that: here and now, for the
    /// name must not travel in a message.
    /// </summary>
    internal Task RefuseAsync(BlobVersion blob, CancellationToken cancellationToken) => StartAsync(blob, heldBecause: null, cancellationToken);

    /// <summary>The load of a blob version; recorded where there is none.</summary>
    /// <param name="blob">The version.</param>
    /// <param name="heldBecause">Why its mails are to wait whatever its metadata says; null: no reason.</param>
    /// <param name="cancellationToken">Of the calls on the stores.</param>
    internal async Task<LoadHead> StartAsync(BlobVersion blob, string? heldBecause, CancellationToken cancellationToken)
    {
        if (await context.Database.FindLoadAsync(blob, cancellationToken) is { } found)
        {
            await TakenOnAsync(found, cancellationToken);
            return found;
        }
        var (breach, failure) = ("", (string?)null);
        var named = new BreachDocument(null, null);
        try
        {
            breach = BreachName.FromBlob(blob.Name);
            named = await BreachDocument.ReadAsync(context.Blobs, blob.Name, breach, cancellationToken);
        }
        catch (BadInputException e)
        {
            failure = e.Message;
            breach = breach.Length > 0 ? breach : "unnamed";
        }
        var id = await context.Register.DrawLoadAsync(cancellationToken);
        var load = await context.Database.StartLoadAsync(
            new NewLoad(id, breach, blob, NewSettings(context.Options)) { Metadata = named.Document, Failure = failure, HeldBecause = Both(heldBecause, named.HeldBecause(id)) }, cancellationToken);
        var head = await context.Database.GetLoadHeadAsync(load.Id, cancellationToken) ?? throw new LoadLostException(load.Id);
        await TakenOnAsync(head, cancellationToken);
        if (load.State == LoadState.Failed && failure is not null)
            LogFailed(load.Id, load.Breach, failure);
        return head;
    }

    // The first of them counts where only some reasons are settled by what an operator does.
    private static string? Both(string? first, string? second) => first is null || second is null ? first ?? second : $"{first}; {second}";

    /// <summary>
    /// Behind the row: a mark without a row would be cleared by a sweep, a receipt without one would hide the
    /// zip for good, and an id that is confirmed has to be there. A row without them is made good by this
    /// message's next delivery.
    /// </summary>
    private async Task TakenOnAsync(LoadHead load, CancellationToken cancellationToken)
    {
        await context.Register.ConfirmAsync(new StoreIds(load.Id, load.Mark), cancellationToken);
        await context.Register.MarkOpenAsync(load.Id, cancellationToken);
        await context.Register.AddReceiptAsync(load.Blob, cancellationToken);
    }

    /// <summary>A load that ends its process comes back, under a new owner each time, without having got on.</summary>
    private void CheckAttempts(Load load, int deferrals)
    {
        if (load.Attempts > context.Options.MaxTries + deferrals)
        {
            throw new BadInputException($"its ingest was begun {load.Attempts - 1} times and ended without a word each time: did the process run out of memory, or meet its plan's time limit? "
                + $"Mend that, or lower HIBP_DEDUPECAP and start it anew with 'hibp resume {load.Id} --restart', else: hibp resume {load.Id}");
        }
        var fits = DedupeSet.MostThatFit();
        if (load.Settings.DedupeCap > fits)
        {
            throw new BadInputException($"it remembers up to {load.Settings.DedupeCap} accounts, as recorded when it began, and this process has memory for {fits}: "
                + $"resume it where there is more ('hibp resume {load.Id}'), or start it anew with what fits here: hibp resume {load.Id} --restart");
        }
    }

    private async Task IngestAsync(Load load, string owner, CancellationToken cancellationToken)
    {
        // A resume comes here by the load's id, and errors name the blob.
        BreachName.CheckBlob(load.Blob.Name);
        CheckExtractor(load);
        // For its errors, which are better told now than hours later; it counts when the load is published.
        await BreachDocument.ReadAsync(context.Blobs, load.Blob.Name, load.Breach, cancellationToken);
        var password = await context.Passwords.GetAsync(load.Blob, cancellationToken);
        if (load.Mark == 0)
            load = load with { Mark = await context.Register.DrawMarkAsync(cancellationToken) };

        using var lease = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        using var limit = new CancellationTokenSource(context.Options.PlanLimit > TimeSpan.Zero ? context.Options.PlanLimit : Timeout.InfiniteTimeSpan, context.Time);
        using var leaseAndLimit = CancellationTokenSource.CreateLinkedTokenSource(lease.Token, limit.Token);
        var renewing = RenewAsync(load.Id, owner, lease);
        try
        {
            var known = await RememberAsync(load, leaseAndLimit.Token);
            await using var extraction = new AccountExtractor(await context.Blobs.OpenAsync(load.Blob, leaseAndLimit.Token), password, load, known);
            extraction.Start();
            if (await CopyAsync(load, owner, extraction, leaseAndLimit.Token, limit.Token, lease.Token))
                await FinishAsync(load, owner, extraction.Checkpoint(), cancellationToken);
        }
        catch (OperationCanceledException) when (limit.IsCancellationRequested && !lease.IsCancellationRequested)
        {
            throw new BadInputException($"reading up to the first account that is not copied yet takes longer than the {context.Options.PlanLimit} that one invocation may run here (HIBP_PLANLIMIT, "
                + $"kept below the plan's limit): resume it with 'hibp resume {load.Id}' on a plan that lets it run longer or under 'hibp run', or drop the archive's entries as several smaller archives");
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new LoadLostException(load.Id);
        }
        finally
        {
            await lease.CancelAsync();
            await renewing;
        }
    }

    /// <summary>False when the time budget, or the plan's limit after a commit, ended it.</summary>
    /// <param name="reading">Cancels a wait for the next batch: the limit or the lease.</param>
    private async Task<bool> CopyAsync(Load load, string owner, AccountExtractor extraction, CancellationToken reading, CancellationToken limit, CancellationToken lease)
    {
        var firstCommit = 0L;
        var number = load.Batches;
        var sending = Task.CompletedTask;
        var order = new BatchCopyOrder(load.Id, owner, load.Mark, load.Settings.SliceRows, context.Options.LoadLease);
        await using var copy = await context.Database.OpenCopyAsync(order, reading);
        try
        {
            await foreach (var batch in extraction.Batches.ReadAllAsync(reading))
            {
                using var span = HibpTelemetry.Source.StartActivity(TelemetryNames.Spans.Batch)
                    ?.SetTag(TelemetryNames.Tags.Load, load.Id).SetTag(TelemetryNames.Tags.Breach, load.Breach).SetTag(TelemetryNames.Tags.Batch, ++number)
                    .SetTag(TelemetryNames.Tags.Accounts, batch.Accounts.Count).SetTag(TelemetryNames.Tags.Bytes, batch.Accounts.Bytes);
                // A transaction that has begun is finished: cancellation acts between batches.
                var began = context.Time.GetTimestamp();
                var slices = await copy.CommitAsync(batch.Accounts, batch.Checkpoint, batch.DuplicatesPossible, CancellationToken.None);
                var duration = context.Time.GetElapsedTime(began);
                HibpTelemetry.BatchCopied(batch.Accounts.Count, batch.Accounts.Bytes, duration);
                // The transaction is what the span measures; it stays the current one, so that its slices' messages name it.
                span?.SetTag(TelemetryNames.Tags.Slices, slices.Count).SetEndTime(span.StartTimeUtc + duration);
                extraction.Return(batch);
                await sending;
                // Before anything writes the mark into the table: a database that lost it again, to a backup, is then refused.
                if (firstCommit == 0)
                    await context.Register.ConfirmAsync(new StoreIds(load.Id, load.Mark), CancellationToken.None);
                sending = context.SendSlicesAsync(slices, CancellationToken.None);
                if (firstCommit == 0)
                    firstCommit = context.Time.GetTimestamp();
                lease.ThrowIfCancellationRequested();
                span?.Stop(); // a continuation hangs on this run, not on its last batch
                if (limit.IsCancellationRequested || (context.Options.TimeBudget > TimeSpan.Zero && context.Time.GetElapsedTime(firstCommit) >= context.Options.TimeBudget))
                    return await HandOnAsync(load, owner, sending, lease);
            }
        }
        catch (OperationCanceledException)
        {
            // What has committed is announced, whatever ends it.
            await sending;
            if (firstCommit == 0 || !limit.IsCancellationRequested || lease.IsCancellationRequested)
                throw;
            return await HandOnAsync(load, owner, sending, lease);
        }
        await sending;
        return true;
    }

    private async Task<bool> HandOnAsync(Load load, string owner, Task sending, CancellationToken cancellationToken)
    {
        await sending;
        await context.Database.ReleaseLoadAsync(load.Id, owner, CancellationToken.None);
        await context.SendLoadMessageAsync(QueueNames.Ingest, new IngestMessage { Load = load.Id }, cancellationToken);
        LogHandedOn(load.Id, load.Breach);
        return false;
    }

    private async Task FinishAsync(Load load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken)
    {
        var copied = (await context.Database.GetLoadAsync(load.Id, cancellationToken))?.LastPosition ?? 0;
        if (copied == 0)
            throw new BadInputException($"no account in it ({checkpoint.Rejected.Total} candidates broke a rule); expected text that holds email addresses");
        await context.Database.FinishIngestAsync(load.Id, owner, checkpoint, CancellationToken.None);
        await context.Passwords.DeleteAsync(load.Blob, CancellationToken.None);
        await context.CompleteUpsertAsync(load.Id, CancellationToken.None);
        LogCopied(load.Id, load.Breach, copied, checkpoint.Rejected.Total, checkpoint.Rejected.Duplicates);
    }

    /// <summary>
    /// The dedupe set as it stood when the checkpoint's entry was opened. Up to the cap all rows are distinct,
    /// so it is the first rows.
    /// </summary>
    private async Task<DedupeSet> RememberAsync(Load load, CancellationToken cancellationToken)
    {
        var known = new DedupeSet(load.Settings.DedupeCap);
        var rows = new AccountBatch(load.Settings.BatchRows);
        var isNew = new bool[rows.Capacity];
        var last = Math.Min(load.Checkpoint.EntryFirstPosition - 1, load.Settings.DedupeCap);
        for (var first = 1L; first <= last; first += rows.Capacity)
        {
            await context.Database.ReadRowsAsync(load.Id, first, Math.Min(first + rows.Capacity - 1, last), rows, cancellationToken);
            known.Add(rows, isNew);
        }
        return known;
    }

    /// <summary>Keeps the lease while nothing is committed (filling the dedupe set, skipping); cancels when it is lost.</summary>
    private async Task RenewAsync(long load, string owner, CancellationTokenSource lease)
    {
        using var timer = new PeriodicTimer(context.Options.LoadLease / 3, context.Time);
        try
        {
            while (await timer.WaitForNextTickAsync(lease.Token))
            {
                var kept = true;
                await IgnoreUnavailableAsync(async () => kept = await context.Database.RenewLoadAsync(load, owner, context.Options.LoadLease, lease.Token));
                if (!kept)
                    await lease.CancelAsync();
            }
        }
        catch (OperationCanceledException)
        {
            // The ingest has ended.
        }
    }

    private static void CheckExtractor(Load load)
    {
        if (load.Settings.ExtractorVersion != AccountScanner.Version || load.Settings.TopLevelDomains != TopLevelDomains.Hash)
        {
            throw new BadInputException($"it began with extractor {load.Settings.ExtractorVersion} and another list of top-level domains or extractor than this program's "
                + $"({AccountScanner.Version}), which would find other positions; start it anew: hibp resume {load.Id} --restart");
        }
    }

    /// <summary>What a new load records.</summary>
    internal static LoadSettings NewSettings(PipelineOptions options) => new()
    {
        ExtractorVersion = AccountScanner.Version,
        TopLevelDomains = TopLevelDomains.Hash,
        Limits = options.Limits,
        DedupeCap = options.DedupeCap > 0 ? options.DedupeCap : DedupeSet.DefaultCap(),
        BatchRows = options.BatchRows,
        SliceRows = options.SliceRows,
    };

    private static async Task IgnoreUnavailableAsync(Func<Task> action)
    {
        try
        {
            await action();
        }
        catch (StoreUnavailableException)
        {
            // The caller's own error, or the next call, says it.
        }
    }
}
