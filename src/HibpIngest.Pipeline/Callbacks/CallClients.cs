using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// Matches a slice of a published load against the prefixes that clients watch, and records the calls for each client. Idempotency key:
/// (load, slice). The first delivery to record its result wins; a redelivery finds the slice recorded and does nothing.
/// </summary>
public sealed partial class CallClients(
    ILoads loads, ICallSlices slices, JournaledRows rows, ICallbackClients clients, WatchedPrefixes watched, ICallbackBlobs blobs,
    InstallationKeys keys, IReadLayout layout, IStoreTables tables, CallSchedule schedule, ILogger<CallClients> log)
    : IStage<CallMessage, CallRun>
{
    public async Task<CallRun?> ClaimAsync(CallMessage message, CancellationToken cancellationToken) =>
        await slices.FindCallSliceAsync(message.Load, message.Slice, cancellationToken) is { IsLookedThrough: false } slice
            ? new CallRun(slice) : null;

    public async Task RunAsync(CallRun work, CancellationToken cancellationToken)
    {
        var (slice, breach) = (work.Slice.Slice, work.Slice.Breach);
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Slice, slice.Number).SetTag(TelemetryNames.Tags.Accounts, slice.Count);
        var called = (await clients.ListAsync(cancellationToken)).Where(client => client.IsCalledOf(breach.Metadata.Flags)).ToList();
        var calls = called.Count > 0 ? await FindAsync(work, called, cancellationToken) : [];
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Clients, calls.Count);
        if (await slices.RecordCallSliceAsync(slice.Load, slice.Number, calls, cancellationToken) is not { } due)
        {
            // Another delivery recorded the slice and uses the same blobs, or the load doesn't send now and others may have recorded them.
            // If the load is removed, nothing else would delete the blobs.
            if (await loads.GetLoadAsync(slice.Load, cancellationToken) is null or { Removing: true })
            {
                foreach (var client in calls.Keys)
                    await blobs.DeleteAsync(new CallbackKey(client, slice.Load, slice.Number), cancellationToken);
            }
            return;
        }
        LogLookedThrough(slice.Load, slice.Number, calls.Count, calls.Values.Sum(count => (long)count));
        foreach (var client in due)
            await schedule.CallAsync(client, TimeSpan.Zero, cancellationToken);
    }

    // Sweep retries, unless the slice can't be read. The reason is recorded with the load.
    public async Task<bool> FailAsync(CallRun work, Exception error)
    {
        var (slice, reason) = (work.Slice.Slice.Number, UnexpectedError.Reason(error));
        // Rows that were purged after the slice was read from the database are in the journal by now.
        var fails = work.IsReading
            && error is RowsMissingException or DamagedSegmentException or StoreMissingException or JournalConflictException
                or NotPossibleException
            && (await slices.FindCallSliceAsync(work.LoadId, slice, CancellationToken.None))?.Purged == work.Slice.Purged;
        await slices.SetCallErrorAsync(work.LoadId, reason, fails, CancellationToken.None);
        LogFailed(
            work.LoadId, slice, error is HibpException ? reason : UnexpectedError.Describe(error),
            fails ? "to retry, run: hibp callbacks retry" : "retrying");
        return false;
    }

    private async Task<Dictionary<int, int>> FindAsync(
        CallRun run, IReadOnlyList<CallbackClient> called, CancellationToken cancellationToken)
    {
        var (work, slice) = (run.Slice, run.Slice.Slice);
        var calls = new Dictionary<int, int>();
        using var accounts = HashedAccounts.Rent(slice.Count);
        run.IsReading = true;
        await rows.ReadAsync(slice, work.Mark, work.Purged, accounts.Accounts, cancellationToken);
        run.IsReading = false;
        accounts.Hash();
        var reported = work.CalledMarks.Count == 0 ? null : new ReportedHashes(
            work.CalledMarks, (await layout.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First).Facts, tables);
        // One bitmap at a time: all clients' bitmaps, in each concurrent slice, would exceed the memory of the process.
        foreach (var client in called)
        {
            if (await watched.GetAsync(client.Number, cancellationToken) is not { } bitmap)
                continue;
            if (reported is not null)
                await reported.LookUpAsync(accounts, bitmap, cancellationToken);
            var key = new CallbackKey(client.Number, slice.Load, slice.Number);
            if (await WriteAsync(key, accounts, bitmap, reported, cancellationToken) is > 0 and var count)
                calls[client.Number] = count;
        }
        return calls;
    }

    /// <summary>Writes a client's call list, unless an earlier attempt did: its calls may have been made already.</summary>
    private async Task<int> WriteAsync(
        CallbackKey delivery, HashedAccounts accounts, PrefixBitmap bitmap, ReportedHashes? reported, CancellationToken cancellationToken)
    {
        var (calls, content) = Seal(delivery, accounts, bitmap, reported);
        if (calls == 0 || await blobs.WriteAsync(delivery, content, replaces: false, cancellationToken))
            return calls;
        if (await blobs.ReadAsync(delivery, cancellationToken) is { } there && CallList.Open(keys.Secret!, delivery, there) is { } list)
            return list.Count;
        await blobs.WriteAsync(delivery, content, replaces: true, cancellationToken);
        return calls;
    }

    private (int Calls, byte[] Content) Seal(
        CallbackKey delivery, HashedAccounts accounts, PrefixBitmap bitmap, ReportedHashes? reported)
    {
        var found = accounts.Find(bitmap, reported is null ? null : hash => !reported.Contains(hash));
        if (found.Length == 0)
            return (0, []);
        if (keys.Secret is null)
        {
            throw new NotPossibleException("callbacks are encrypted under HIBP_SECRET_KEY, which is not set: set the key that the clients "
                + "were added with (hibp clients add) for every host");
        }
        return (CallList.CountOf(found), CallList.Seal(keys.Secret, delivery, found));
    }

    [LoggerMessage(
        EventIds.CallClientsLookedThrough, LogLevel.Information, "load {Load} slice {Slice}: {Calls} calls to {Clients} clients found")]
    private partial void LogLookedThrough(long load, int slice, int clients, long calls);

    [LoggerMessage(
        EventIds.CallClientsFailed, LogLevel.Error, "load {Load} slice {Slice}: search for clients to call failed: {Reason}; {Next}")]
    private partial void LogFailed(long load, int slice, string reason, string next);
}

/// <summary>Takes no lease: if two deliveries run concurrently, the second finds the result recorded.</summary>
public sealed record CallRun(CallSlice Slice) : IStageWork
{
    /// <summary>Whether the slice's rows are being read: a failure now is caused by them.</summary>
    internal bool IsReading { get; set; }

    public long LoadId => Slice.Slice.Load;

    public string Breach => Slice.Breach.Name;
}
