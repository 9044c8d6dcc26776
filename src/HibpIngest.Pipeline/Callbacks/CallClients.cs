namespace HibpIngest.Pipeline.Callbacks;

/// <summary>
/// Matches a slice of a published load against the prefixes that clients watch, and records the calls for each client. Idempotency key:
/// (load, slice). The first delivery to record its result wins; a redelivery finds the slice recorded and does nothing.
/// </summary>
public sealed partial class CallClients(
    IBreachDatabase database, ICallbackClients clients, FindCalls calls, ICallbackBlobs blobs, CallSchedule schedule,
    ILogger<CallClients> log)
    : IStage<CallbackSliceMessage, CallRun>
{
    public async Task<CallRun?> ClaimAsync(CallbackSliceMessage message, CancellationToken cancellationToken) =>
        await database.FindCallSliceAsync(message.LoadId, message.Slice, cancellationToken) is { IsSearched: false } slice
            ? new CallRun(slice) : null;

    public async Task RunAsync(CallRun work, CancellationToken cancellationToken)
    {
        var (slice, breach) = (work.Slice.Slice, work.Slice.Breach);
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Slice, slice.Number).SetTag(TelemetryNames.Tags.Accounts, slice.Count);
        var called = (await clients.ListAsync(cancellationToken)).Where(client => client.IsCalledOf(breach.Metadata.Flags)).ToList();
        var found = called.Count > 0 ? await calls.RunAsync(work, called, cancellationToken) : [];
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Clients, found.Count);
        if (await database.RecordCallSliceAsync(slice.Load, slice.Number, found, cancellationToken) is not { } due)
        {
            // The blobs stay: another delivery may have recorded the slice, and uses the same ones. They are deleted only if the load is
            // removed, because nothing else would delete them.
            if (await database.GetLoadAsync(slice.Load, cancellationToken) is null or { Removing: true })
            {
                foreach (var client in found.Keys)
                    await blobs.DeleteAsync(new CallbackKey(client, slice.Load, slice.Number), cancellationToken);
            }
            return;
        }
        LogLookedThrough(slice.Load.Value, slice.Number, found.Count, found.Values.Sum(count => (long)count));
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
            && (await database.FindCallSliceAsync(work.LoadId, slice, CancellationToken.None))?.Purged == work.Slice.Purged;
        await database.SetCallErrorAsync(work.LoadId, reason, fails, CancellationToken.None);
        LogFailed(
            work.LoadId.Value, slice, error is HibpException ? reason : UnexpectedError.Describe(error),
            fails ? "to retry, run: hibp callbacks retry" : "it is retried automatically");
        return false;
    }

    [LoggerMessage(
        EventIds.CallClientsLookedThrough, LogLevel.Information, "load {Load} slice {Slice}: {Calls} calls to {Clients} clients found")]
    private partial void LogLookedThrough(long load, int slice, int clients, long calls);

    [LoggerMessage(
        EventIds.CallClientsFailed, LogLevel.Error, "load {Load} slice {Slice}: matching client prefixes failed: {Reason}; {Next}")]
    private partial void LogFailed(long load, int slice, string reason, string next);
}

/// <summary>Takes no lease: if two deliveries run concurrently, the second finds the result recorded.</summary>
public sealed record CallRun(CallSlice Slice) : IStageWork
{
    /// <summary>True if the slice's rows are being read: a failure now is caused by them.</summary>
    internal bool IsReading { get; set; }

    public LoadId LoadId => Slice.Slice.Load;

    public string Breach => Slice.Breach.Name;
}
