namespace HibpIngest.Pipeline.Messaging;

/// <summary>Reports loads to telemetry when their state changes and, by Sweep, each minute. Queries nothing without a listener.</summary>
public sealed partial class LoadReports(ILoads loads, ArchivePasswords passwords, ILoggerFactory logs)
{
    private readonly ILogger _log = logs.CreateLogger(typeof(HibpTelemetry));

    public async Task ReportAsync(LoadId load)
    {
        if (!HibpTelemetry.WatchesLoads)
            return;
        // The change is made; if the database is unavailable now, the next sweep reports it.
        await StageRunner.IgnoreUnavailableAsync(async () =>
        {
            if (await loads.GetLoadAsync(load, CancellationToken.None) is { } found)
                Report(found);
        });
    }

    /// <summary>
    /// Reports the progress of a load. Its state is logged and isn't a tag of the gauges: gauges of several processes arrive up to a minute
    /// apart in any order, whereas log lines have their own time.
    /// </summary>
    public void Report(Load load)
    {
        if (!HibpTelemetry.WatchesLoads)
            return;
        HibpTelemetry.LoadSeen(load);
        LogSeen(_log, load.Id.Value, load.Breach, load.State.ToString().ToLowerInvariant(), Math.Round(100 * load.SearchableFraction, 1));
    }

    /// <summary>Records a load as failed and reports it. Deletes its archive's password, which must be given again to resume it.</summary>
    /// <param name="owner">Records the failure only if this owner holds the load, because a new owner decides about it; null:
    /// always.</param>
    public async Task FailAsync(LoadId load, BlobVersion blob, string? owner, string reason, bool superseded = false)
    {
        if (!await loads.FailLoadAsync(load, owner, reason, superseded, CancellationToken.None))
            return;
        HibpTelemetry.Failed(reason);
        await passwords.DeleteAsync(blob, CancellationToken.None);
        await ReportAsync(load);
    }

    [LoggerMessage(EventIds.LoadSeen, LogLevel.Information, "load {Load} of {Breach}: {State}, {Progress} % searchable")]
    private static partial void LogSeen(ILogger log, long load, string breach, string state, double progress);
}
