using System.Diagnostics;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Finds the subscribers and domains that a load concerns, in SQL, step by step: range by range of positions, then
/// what ends it. Its key is the load, whose lease it holds: a second delivery comes
/// again when that has ended, goes on after the last step, or finds the load in a later state. Notifications are
/// unique, so matching again adds none. For a load that is notifying it sends the mail
/// messages that are yet to be sent.
/// </summary>
public sealed partial class MatchSubscribers(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<MatchSubscribers>();

    /// <summary>
    /// Runs until the load is matched, its time budget is used up (it then sends its own continuation), or it has
    /// failed and is recorded so.
    /// </summary>
    public async Task RunAsync(MatchMessage message, CancellationToken cancellationToken)
    {
        var head = await context.Database.GetLoadHeadAsync(message.Load, cancellationToken);
        if (head is { State: LoadState.Notifying })
            await context.SendMailMessagesAsync(head.Id, cancellationToken);
        if (head is not { State: LoadState.Matching, Stopped: false })
            return;
        var owner = context.NewOwner();
        if (!await context.Database.TryTakeLoadAsync(head.Id, LoadState.Matching, owner, context.Options.LoadLease, cancellationToken))
        {
            await WaitForOwnerAsync(message, cancellationToken);
            return;
        }
        try
        {
            if (await context.Database.GetLoadAsync(head.Id, cancellationToken) is not { State: LoadState.Matching } load)
                throw new LoadLostException(head.Id);
            CheckAttempts(load, message.Deferrals);
            var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach).SetTag(TelemetryNames.Tags.Accounts,
                load.Accounts);
            await MatchAsync(load, owner, span, cancellationToken);
        }
        catch (LoadLostException)
        {
            await PipelineContextMessages.IgnoreUnavailableAsync(() => context.Database.ReleaseLoadAsync(head.Id, owner,
                CancellationToken.None));
            LogLost(head.Id);
        }
        catch (BadInputException e)
        {
            await context.FailLoadAsync(head, owner, e.Message);
            LogFailed(head.Id, head.Breach, e.Message);
        }
        catch (Exception e) when (e is StoreUnavailableException or OperationCanceledException)
        {
            // Whoever goes on need not wait for the lease to run out; where the database itself is down, it does run out.
            await PipelineContextMessages.IgnoreUnavailableAsync(() => context.Database.ReleaseLoadAsync(head.Id, owner,
                CancellationToken.None));
            throw;
        }
        catch (Exception e)
        {
            // A defect of ours would meet the same rows again; the load says so, and its resume matches on.
            await context.FailLoadAsync(head, owner,
                $"unexpected {e.GetType().Name} in matching; see the log, then: hibp resume {head.Id}");
            LogFailed(head.Id, head.Breach, UnexpectedError.Describe(e));
        }
    }

    /// <summary>
    /// Somebody has the load, or had it and died: the message comes again when the lease has ended, and finds
    /// which.
    /// </summary>
    private async Task WaitForOwnerAsync(MatchMessage message, CancellationToken cancellationToken)
    {
        if (await context.Database.GetLoadHeadAsync(message.Load, cancellationToken) is not { State: LoadState.Matching } head)
            return;
        await context.SendAfterLeaseAsync(QueueNames.Match, message, head.LeaseExpiresAt, context.Options.LoadLease, cancellationToken);
        await context.Database.MarkMessageSentAsync(head.Id, cancellationToken);
    }

    /// <summary>A load that ends its process comes back, under a new owner each time, without having got on.</summary>
    private void CheckAttempts(Load load, int deferrals)
    {
        if (load.Attempts <= context.Options.MaxTries + deferrals)
            return;
        throw new BadInputException($"its matching was begun {load.Attempts - 1} times and ended without a word each time: did the process run out of memory, or meet its plan's time limit with "
            + $"one step (of at most {context.Options.MatchRows} rows, HIBP_MATCHROWS)? Mend that, then: hibp resume {load.Id}");
    }

    private async Task MatchAsync(Load load, string owner, Activity? span, CancellationToken cancellationToken)
    {
        await using var lease = LeaseKeeper.Keep(context, load.Id, owner, cancellationToken);
        try
        {
            if (await MatchStepsAsync(load, owner, lease.Token) is not { } state)
                return;
            if (state == LoadState.Notifying)
                await context.SendMailMessagesAsync(load.Id, cancellationToken);
            var matched = await context.Database.GetLoadAsync(load.Id, CancellationToken.None) ?? load;
            LogMatched(load.Id, load.Breach, matched.Notifications.Total, state);
            context.ReportLoad(matched);
            span?.SetTag(TelemetryNames.Tags.Notifications, matched.Notifications.Total);
        }
        catch (OperationCanceledException) when (lease.IsLost && !cancellationToken.IsCancellationRequested)
        {
            throw new LoadLostException(load.Id);
        }
    }

    /// <summary>The state in which matching has ended the load; null: it hasn't, and goes on elsewhere.</summary>
    private async Task<LoadState?> MatchStepsAsync(Load load, string owner, CancellationToken cancellationToken)
    {
        var (began, options) = (context.Time.GetTimestamp(), context.Options);
        bool IsUsedUp() => options.TimeBudget > TimeSpan.Zero && context.Time.GetElapsedTime(began) >= options.TimeBudget;

        for (var after = load.MatchedPosition; after < load.LastPosition;)
        {
            var upTo = Math.Min(after + options.MatchRows, load.LastPosition);
            if (!await context.Database.MatchRowsAsync(load.Id, after, upTo, options.LoadLease, cancellationToken))
                throw new LoadLostException(load.Id);
            after = upTo;
            if (IsUsedUp())
                return await HandOnAsync(load, owner);
        }

        // Read again, so that the metadata may arrive after the zip; it decides whether mails go out.
        var metadata = await BreachDocument.ReadAsync(context.Blobs, load.Blob.Name, load.Breach, cancellationToken);
        var end = new MatchEnd(metadata.Document, options.Notify == NotifyMode.Hold, metadata.HeldBecause(load.Id))
        {
            StepRows = Math.Min(options.MatchRows, MostStepRows),
            CountRows = (long)options.MatchRows * CountRanges,
            Lease = options.LoadLease,
        };
        while (true)
        {
            switch (await context.Database.FinishMatchingAsync(load.Id, end, cancellationToken))
            {
                case null:
                    throw new LoadLostException(load.Id);
                case not LoadState.Matching and var state:
                    return state;
            }
            if (IsUsedUp())
                return await HandOnAsync(load, owner);
        }
    }

    // A notification is inserted, indexed three times and logged: some seconds of a small tier.
    private const int MostStepRows = 50_000;

    // An exact count reads the whole load for each part: so many ranges at once, sorted in the server's temporary space.
    private const int CountRanges = 20;

    private async Task<LoadState?> HandOnAsync(Load load, string owner)
    {
        await context.Database.ReleaseLoadAsync(load.Id, owner, CancellationToken.None);
        await context.SendLoadMessageAsync(QueueNames.Match, new MatchMessage { Load = load.Id }, CancellationToken.None);
        LogHandedOn(load.Id, load.Breach);
        return null;
    }
}
