using HibpIngest.Journal.Segments;
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
        if (await slices.RecordCallSliceAsync(slice.Load, slice.Number, calls, cancellationToken) is not { } toTell)
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
        foreach (var client in toTell)
            await schedule.CallAsync(client, TimeSpan.Zero, cancellationToken);
    }

    public Task ReleaseAsync(CallRun work, Exception cause) => Task.CompletedTask;

    /// <inheritdoc/>
    /// <remarks>Sweep retries, unless the slice can't be read. The reason is recorded with the load.</remarks>
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

    public string DescribeExhaustedRetries(CallRun work) => throw new NotSupportedException("its tries don't count");

    private async Task<Dictionary<int, int>> FindAsync(
        CallRun run, IReadOnlyList<CallbackClient> called, CancellationToken cancellationToken)
    {
        var (work, slice) = (run.Slice, run.Slice.Slice);
        var calls = new Dictionary<int, int>();
        var accounts = HashedAccounts.Rent(slice.Count);
        try
        {
            run.IsReading = true;
            await rows.ReadAsync(slice, work.Mark, work.Purged, accounts.Accounts, cancellationToken);
            run.IsReading = false;
            accounts.Hash();
            var told = work.Told.Count > 0 ? new ReportedHashes(work.Told, await ReadFactsAsync(cancellationToken), tables) : null;
            // One bitmap at a time: all clients' bitmaps, in each concurrent slice, would exceed the memory of the process.
            foreach (var client in called)
            {
                if (await watched.GetAsync(client.Number, cancellationToken) is not { } bitmap)
                    continue;
                if (told is not null)
                    await told.LookUpAsync(accounts, bitmap, cancellationToken);
                var count = await KeepAsync(
                    new CallbackKey(client.Number, slice.Load, slice.Number), accounts, bitmap, told, cancellationToken);
                if (count > 0)
                    calls[client.Number] = count;
            }
        }
        finally
        {
            HashedAccounts.Return(accounts);
        }
        return calls;
    }

    private async Task<LayoutFacts> ReadFactsAsync(CancellationToken cancellationToken) =>
        (await layout.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First).Facts;

    /// <summary>Writes a client's call list, unless an earlier attempt did: its calls may have been made already.</summary>
    /// <returns>The number of calls.</returns>
    private async Task<int> KeepAsync(
        CallbackKey delivery, HashedAccounts accounts, Clients.PrefixBitmap bitmap, ReportedHashes? told,
            CancellationToken cancellationToken)
    {
        var (calls, content) = Seal(delivery, accounts, bitmap, told);
        if (calls == 0 || await blobs.WriteAsync(delivery, content, replaces: false, cancellationToken))
            return calls;
        if (await blobs.ReadAsync(delivery, cancellationToken) is { } there && CallList.Open(keys.Secret!, delivery, there) is { } list)
            return list.Count;
        await blobs.WriteAsync(delivery, content, replaces: true, cancellationToken);
        return calls;
    }

    private (int Calls, byte[] Content) Seal(CallbackKey delivery, HashedAccounts accounts, Clients.PrefixBitmap bitmap,
        ReportedHashes? told)
    {
        var found = accounts.Find(bitmap, told is null ? null : hash => !told.Contains(hash));
        if (found.Length == 0)
            return (0, []);
        if (keys.Secret is null)
        {
            throw new NotPossibleException("what clients are called of is sealed under HIBP_SECRET_KEY, which is not set: set the one that "
                + "they were added with (hibp clients add) for every host");
        }
        return (CallList.CountOf(found), CallList.Seal(keys.Secret, delivery, found));
    }
}
