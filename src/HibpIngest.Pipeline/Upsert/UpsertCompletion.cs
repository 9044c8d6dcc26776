using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Upsert;

public sealed class UpsertCompletion(IMatching matching, PipelineMessages messages, JournalSchedule log, LoadReports reports)
{
    public async Task TryAsync(long load, CancellationToken cancellationToken)
    {
        if (!await matching.TryStartMatchingAsync(load, cancellationToken))
            return;
        await messages.SendLoadMessageAsync(new MatchMessage { Load = load }, TimeSpan.Zero, cancellationToken);
        await log.SendAsync(load, cancellationToken);
        await reports.ReportAsync(load);
    }
}
