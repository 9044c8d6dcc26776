namespace HibpIngest.Pipeline.Upsert;

public sealed class UpsertCompletion(INotifications notifications, PipelineMessages messages, JournalSchedule journal, LoadReports reports)
{
    public async Task TryAsync(LoadId load, CancellationToken cancellationToken)
    {
        if (!await notifications.TryStartMatchingAsync(load, cancellationToken))
            return;
        await messages.SendLoadMessageAsync(new MatchMessage { Load = load.Value }, TimeSpan.Zero, cancellationToken);
        await journal.SendAsync(load, cancellationToken);
        await reports.ReportAsync(load);
    }
}
