using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// What whoever watches is told of a load, by more than one stage: when its state changes, and by Sweep each
/// minute while it is open. Nothing is asked while nobody watches.
/// </summary>
internal static partial class PipelineContextReports
{
    /// <summary>Tells how far a load is whose state has just changed.</summary>
    public static async Task ReportLoadAsync(this PipelineContext context, long load)
    {
        if (!HibpTelemetry.WatchesLoads)
            return;
        try
        {
            if (await context.Database.GetLoadAsync(load, CancellationToken.None) is { } found)
                context.ReportLoad(found);
        }
        catch (StoreUnavailableException)
        {
            // What was done is done; the next sweep tells it.
        }
    }

    /// <summary>
    /// Tells how far a load is. Its state is told by a line, and is no tag of the gauges: gauges of several
    /// processes arrive a minute apart in any order, lines have their time.
    /// </summary>
    public static void ReportLoad(this PipelineContext context, Load load)
    {
        if (!HibpTelemetry.WatchesLoads)
            return;
        HibpTelemetry.LoadSeen(load);
        LogSeen(context.Logs.CreateLogger(typeof(HibpTelemetry)), load.Id, load.Breach, load.State.ToString().ToLowerInvariant(), Math.Round(100 * load.SearchablePart, 1));
    }

    /// <summary>
    /// Records a load as failed, marks the current span, and tells it. Its archive's password goes: whoever
    /// resumes it gives it again.
    /// </summary>
    /// <param name="context">The pipeline.</param>
    /// <param name="load">The load.</param>
    /// <param name="owner">Only while this owner holds it: whoever has taken it over meanwhile decides what
    /// becomes of it. Null: whoever does.</param>
    /// <param name="reason">One line.</param>
    /// <param name="superseded">Its blob was replaced while it was read.</param>
    public static async Task FailLoadAsync(this PipelineContext context, LoadHead load, string? owner, string reason, bool superseded = false)
    {
        if (!await context.Database.FailLoadAsync(load.Id, owner, reason, superseded, CancellationToken.None))
            return;
        HibpTelemetry.Failed(reason);
        await context.Passwords.DeleteAsync(load.Blob, CancellationToken.None);
        await context.ReportLoadAsync(load.Id);
    }

    [LoggerMessage(TelemetryNames.Logs.LoadSeen, LogLevel.Information, "load {Load} of {Breach}: {State}, {Progress} % of it can be looked up")]
    private static partial void LogSeen(ILogger log, long load, string breach, string state, double progress);
}
