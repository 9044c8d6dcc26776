using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// What whoever watches is told of a load: when its state changes, and by Sweep each minute while it is open.
/// Nothing is asked while nobody watches.
/// </summary>
public sealed partial class LoadReports(ILoads loads, ArchivePasswords passwords, ILoggerFactory logs)
{
    private readonly ILogger _log = logs.CreateLogger(typeof(HibpTelemetry));

    /// <summary>Tells how far a load is whose state has just changed.</summary>
    public async Task ReportAsync(long load)
    {
        if (!HibpTelemetry.WatchesLoads)
            return;
        // What was done is done; should the database be down now, the next sweep tells it.
        await StageRunner.IgnoreUnavailableAsync(async () =>
        {
            if (await loads.GetLoadAsync(load, CancellationToken.None) is { } found)
                Report(found);
        });
    }

    /// <summary>
    /// Tells how far a load is. Its state is told by a line, and is no tag of the gauges: gauges of several
    /// processes arrive a minute apart in any order, lines have their time.
    /// </summary>
    public void Report(Load load)
    {
        if (!HibpTelemetry.WatchesLoads)
            return;
        HibpTelemetry.LoadSeen(load);
        LogSeen(_log, load.Id, load.Breach, load.State.ToString().ToLowerInvariant(), Math.Round(100 * load.SearchablePart, 1));
    }

    /// <summary>
    /// Records a load as failed, marks the current span, and tells it. Its archive's password goes: whoever
    /// resumes it gives it again.
    /// </summary>
    /// <param name="owner">Only while this owner holds it: whoever has taken it over meanwhile decides what
    /// becomes of it. Null: whoever does.</param>
    /// <param name="superseded">Its blob was replaced while it was read.</param>
    public async Task FailAsync(long load, BlobVersion blob, string? owner, string reason, bool superseded = false)
    {
        if (!await loads.FailLoadAsync(load, owner, reason, superseded, CancellationToken.None))
            return;
        HibpTelemetry.Failed(reason);
        await passwords.DeleteAsync(blob, CancellationToken.None);
        await ReportAsync(load);
    }

    [LoggerMessage(EventIds.LoadSeen, LogLevel.Information, "load {Load} of {Breach}: {State}, {Progress} % of it can be looked up")]
    private static partial void LogSeen(ILogger log, long load, string breach, string state, double progress);
}
