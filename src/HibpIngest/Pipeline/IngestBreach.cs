using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Copies a blob version's accounts into SQL in batches, and sends each batch's slices as soon as it has committed. Its key is the blob version: a second delivery finds
/// the load recorded and either owned by a living ingester (nothing to do), or to be gone on with after its last checkpoint, or finished (nothing to do).
/// </summary>
public sealed partial class IngestBreach(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<IngestBreach>();
    private readonly LoadTrace _trace = new(context.Database);

    /// <summary>Runs until the load is copied, its time budget is used up (it then sends its own continuation), or it has failed and is recorded so.</summary>
    public async Task RunAsync(IngestMessage message, CancellationToken cancellationToken)
    {
        var load = message.Load > 0
            ? await ContinueAsync(message.Load, cancellationToken)
            : await StartAsync(new BlobVersion(message.Blob ?? "", message.ETag ?? ""), cancellationToken);
        if (load is null || load.State != LoadState.Ingesting)
            return;
        var owner = context.NewOwner();
        if (!await context.Database.TryTakeLoadAsync(load.Id, owner, context.Options.LoadLease, cancellationToken))
        {
            LogOwnedElsewhere(load.Id);
            return;
        }
        // That of a continuation has been started with its message.
        using var span = HibpTelemetry.Span is not null ? null : LoadTrace.Start(TelemetryNames.Spans.Load, load.Id, await _trace.FindAsync(load.Id, message.Traceparent, cancellationToken));
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach);
        try
        {
            // Read again under the lease: the checkpoint may have moved between the two.
            load = await context.Database.GetLoadAsync(load.Id, cancellationToken) ?? throw new LoadLostException(load.Id);
            LogBegun(load.Id, load.Breach, load.LastPosition + 1);
            await IngestAsync(load, owner, cancellationToken);
        }
        catch (LoadLostException e)
        {
            LogLost(load.Id, e.Message);
        }
        catch (BadInputException e)
        {
            if (await OwnsAsync(load.Id, owner))
                await context.FailLoadAsync(load.Id, e.Message);
            LogFailed(load.Id, load.Breach, e.Message);
        }
        catch (Exception e) when (e is StoreUnavailableException or OperationCanceledException)
        {
            HibpTelemetry.Failed(UnexpectedError.Reason(e));
            // Whoever goes on need not wait for the lease to run out; where the database itself is down, it does run out.
            await IgnoreUnavailableAsync(() => context.Database.ReleaseLoadAsync(load.Id, owner, CancellationToken.None));
            throw;
        }
        catch (Exception e)
        {
            // A defect of ours would meet the same bytes again: say so on the load, where the operator looks, instead of trying forever.
            if (await OwnsAsync(load.Id, owner))
                await context.FailLoadAsync(load.Id, $"unexpected {e.GetType().Name}; see the log, then: hibp resume {load.Id}");
            LogUnexpected(load.Id, load.Breach, UnexpectedError.Describe(e));
        }
    }

    // Whoever has taken the load over meanwhile decides what becomes of it.
    private Task<bool> OwnsAsync(long load, string owner) => context.Database.RenewLoadAsync(load, owner, context.Options.LoadLease, CancellationToken.None);

    private async Task<Load?> StartAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        var (breach, metadata, failure) = ("", new BreachMetadata(), (string?)null);
        try
        {
            breach = BreachName.FromBlob(blob.Name);
            breach = (await ReadMetadataAsync(context, blob.Name, before: null, cancellationToken))?.Name ?? breach;
            var before = (await context.Database.GetBreachAsync(breach, cancellationToken))?.Metadata ?? metadata;
            metadata = await ReadMetadataAsync(context, blob.Name, before, cancellationToken) ?? before;
        }
        catch (BadInputException e)
        {
            failure = e.Message;
            breach = breach.Length > 0 ? breach : "unnamed";
        }
        var load = await context.Database.StartLoadAsync(breach, metadata, blob, NewSettings(context.Options), failure, cancellationToken);
        // The mark comes after the row: a mark without a row would be cleared by a sweep, a row without a mark is made good by this message's next delivery.
        await context.Register.MarkOpenAsync(load.Id, cancellationToken);
        await context.Register.AddReceiptAsync(blob, cancellationToken);
        if (load.State == LoadState.Failed && failure is not null)
            LogFailed(load.Id, load.Breach, failure);
        return load;
    }

    private async Task<Load?> ContinueAsync(long id, CancellationToken cancellationToken)
    {
        if (await context.Database.GetLoadAsync(id, cancellationToken) is not { State: LoadState.Ingesting } load)
            return null;
        await context.Register.MarkOpenAsync(load.Id, cancellationToken);
        return load;
    }

    private async Task IngestAsync(Load load, string owner, CancellationToken cancellationToken)
    {
        CheckExtractor(load);
        var before = (await context.Database.GetBreachAsync(load.Breach, cancellationToken))?.Metadata;
        if (await ReadMetadataAsync(context, load.Blob.Name, before, cancellationToken) is { } metadata)
            await context.Database.UpdateBreachAsync(load.Breach, metadata, cancellationToken);
        var password = await context.Passwords.GetAsync(load.Blob.Name, cancellationToken);

        using var lease = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        using var limit = new CancellationTokenSource(context.Options.PlanLimit > TimeSpan.Zero ? context.Options.PlanLimit : Timeout.InfiniteTimeSpan, context.Time);
        using var leaseAndLimit = CancellationTokenSource.CreateLinkedTokenSource(lease.Token, limit.Token);
        var renewing = RenewAsync(load.Id, owner, lease);
        try
        {
            var known = await RememberAsync(load, leaseAndLimit.Token);
            await using var extraction = new BreachExtraction(await context.Blobs.OpenAsync(load.Blob, leaseAndLimit.Token), password, load, known);
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
    private async Task<bool> CopyAsync(Load load, string owner, BreachExtraction extraction, CancellationToken reading, CancellationToken limit, CancellationToken lease)
    {
        var firstCommit = 0L;
        var number = load.Batches;
        var sending = Task.CompletedTask;
        try
        {
            await foreach (var batch in extraction.Batches.ReadAllAsync(reading))
            {
                using var span = HibpTelemetry.Source.StartActivity(TelemetryNames.Spans.Batch)
                    ?.SetTag(TelemetryNames.Tags.Load, load.Id).SetTag(TelemetryNames.Tags.Breach, load.Breach).SetTag(TelemetryNames.Tags.Batch, ++number)
                    .SetTag(TelemetryNames.Tags.Accounts, batch.Accounts.Count).SetTag(TelemetryNames.Tags.Bytes, batch.Accounts.Bytes);
                // A transaction that has begun is finished: cancellation acts between batches.
                var began = context.Time.GetTimestamp();
                var slices = await context.Database.CommitBatchAsync(
                    load.Id, owner, batch.Accounts, load.Settings.SliceRows, batch.Checkpoint, batch.DuplicatesPossible, context.Options.LoadLease, CancellationToken.None);
                var duration = context.Time.GetElapsedTime(began);
                HibpTelemetry.BatchCopied(batch.Accounts.Count, batch.Accounts.Bytes, duration);
                // The transaction is what the span measures; it stays the current one, so that its slices' messages name it.
                span?.SetTag(TelemetryNames.Tags.Slices, slices.Count).SetEndTime(span.StartTimeUtc + duration);
                extraction.Return(batch);
                await sending;
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
        await context.SendAsync(QueueNames.Ingest, new IngestMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
        LogHandedOn(load.Id, load.Breach);
        return false;
    }

    private async Task FinishAsync(Load load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken)
    {
        var copied = (await context.Database.GetLoadAsync(load.Id, cancellationToken))?.LastPosition ?? 0;
        if (copied == 0)
            throw new BadInputException($"no account in it ({checkpoint.Rejected.Total} candidates broke a rule); expected text that holds email addresses");
        await context.Database.FinishIngestAsync(load.Id, owner, checkpoint, CancellationToken.None);
        await context.Passwords.DeleteAsync(load.Blob.Name, CancellationToken.None);
        await context.CompleteUpsertAsync(load.Id, CancellationToken.None);
        LogCopied(load.Id, load.Breach, copied, checkpoint.Rejected.Total, checkpoint.Rejected.Duplicates);
    }

    /// <summary>The dedupe set as it stood when the checkpoint's entry was opened. Up to the cap all rows are distinct, so it is the first rows.</summary>
    private async Task<AccountSet> RememberAsync(Load load, CancellationToken cancellationToken)
    {
        var known = new AccountSet(load.Settings.DedupeCap);
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
        DedupeCap = options.DedupeCap > 0 ? options.DedupeCap : AccountSet.DefaultCap(),
        BatchRows = options.BatchRows,
        SliceRows = options.SliceRows,
    };

    /// <summary>The metadata beside a zip, on top of what is known of the breach already; null where there is none.</summary>
    /// <exception cref="BadInputException">There is, and it can't be read.</exception>
    internal static async Task<BreachMetadata?> ReadMetadataAsync(PipelineContext context, string blob, BreachMetadata? before, CancellationToken cancellationToken)
    {
        foreach (var name in BreachName.MetadataBlobs(blob))
        {
            if (await context.Blobs.ReadSmallAsync(name, BreachMetadata.MaxBytes, cancellationToken) is { } json)
                return BreachMetadata.Parse(json, before);
        }
        return null;
    }

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
