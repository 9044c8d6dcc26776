using System.Diagnostics;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Finds the subscribers and domains that a load concerns, in SQL, range by range of positions. Its key is the load: a second delivery goes on after the last matched
/// position, or finds the load in a later state and does nothing. Notifications are unique, so matching again adds none.
/// </summary>
public sealed partial class MatchSubscribers(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<MatchSubscribers>();

    public async Task RunAsync(MatchMessage message, CancellationToken cancellationToken)
    {
        if (await context.Database.GetLoadAsync(message.Load, cancellationToken) is not { State: LoadState.Matching } load)
            return;
        var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach).SetTag(TelemetryNames.Tags.Accounts, load.Accounts);
        try
        {
            await MatchAsync(load, span, cancellationToken);
        }
        catch (BadInputException e)
        {
            await FailAsync(load, e.Message);
            LogFailed(load.Id, load.Breach, e.Message);
        }
        catch (Exception e) when (e is not (StoreUnavailableException or OperationCanceledException))
        {
            // A defect of ours would meet the same rows again; the load says so, and its resume matches on.
            await FailAsync(load, $"unexpected {e.GetType().Name} in matching; see the log, then: hibp resume {load.Id}");
            LogFailed(load.Id, load.Breach, UnexpectedError.Describe(e));
        }
    }

    private async Task FailAsync(Load load, string reason)
    {
        if (await context.Database.GetLoadHeadAsync(load.Id, CancellationToken.None) is { } head)
            await context.FailLoadAsync(head, owner: null, reason);
    }

    private async Task MatchAsync(Load load, Activity? span, CancellationToken cancellationToken)
    {
        var began = context.Time.GetTimestamp();
        for (var after = load.MatchedPosition; after < load.LastPosition;)
        {
            var upTo = Math.Min(after + context.Options.MatchRows, load.LastPosition);
            if (!await context.Database.MatchRowsAsync(load.Id, after, upTo, cancellationToken))
                return; // another delivery is ahead; it ends the matching
            after = upTo;
            if (after < load.LastPosition && context.Options.TimeBudget > TimeSpan.Zero && context.Time.GetElapsedTime(began) >= context.Options.TimeBudget)
            {
                await context.SendAsync(QueueNames.Match, new MatchMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
                return;
            }
        }

        // Read again, so that the metadata may arrive after the zip; it decides whether mails go out.
        if ((await BreachDocument.ReadAsync(context.Blobs, load.Blob.Name, load.Breach, cancellationToken)).Document is { } document)
            await context.Database.MergeMetadataAsync(load.Breach, document, byOperator: false, cancellationToken);
        var metadata = (await context.Database.GetBreachAsync(load.Breach, cancellationToken))?.Metadata ?? new BreachMetadata();
        var state = await context.Database.FinishMatchingAsync(
            load.Id, hold: metadata.Notify == NotifyMode.Hold || load.HeldBecause is not null, suppress: metadata.Flags.HasFlag(BreachFlags.Retired), CancellationToken.None);
        if (state is null)
            return;
        var matched = await context.Database.GetLoadAsync(load.Id, CancellationToken.None) ?? load;
        if (state == LoadState.Notifying)
            await context.SendMailMessagesAsync(load.Id, matched.Notifications.Total, CancellationToken.None);
        LogMatched(load.Id, load.Breach, matched.Notifications.Total, state.Value);
        context.TellLoad(matched);
        span?.SetTag(TelemetryNames.Tags.Notifications, matched.Notifications.Total);
    }
}
