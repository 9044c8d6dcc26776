using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Ingest;

namespace HibpIngest.Pipeline.Matching;

/// <summary>Matches a load's rows with the subscribers, from its last matched position on, and finishes the match.</summary>
public sealed class MatchLoad(
    INotifications notifications, IBreachBlobs blobs, PublishCatalogue catalogue, CallSchedule calls, IOptions<MailOptions> mail,
    IOptions<IngestOptions> ingest, TimeProvider time)
{
    // Each notification is inserted, indexed three times and logged: some seconds on a small database tier.
    private const int MaxStepRows = 50_000;

    // An exact count reads the whole load once for each part. A part covers this many ranges, sorted in the server's temporary space.
    private const int CountRanges = 20;

    /// <summary>Maximum number of rows matched in one transaction.</summary>
    public int StepRows => mail.Value.MatchRows;

    /// <returns>The new state; null if the time budget is used up, and another message must continue.</returns>
    public async Task<LoadState?> RunAsync(LoadLease work, CancellationToken cancellationToken)
    {
        var load = work.Load;
        var began = time.GetTimestamp();
        bool IsExhausted() => ingest.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(began) >= ingest.Value.TimeBudget;

        for (var after = load.MatchedPosition; after < load.LastPosition;)
        {
            var upTo = Math.Min(after + StepRows, load.LastPosition);
            if (!await notifications.MatchRowsAsync(load.Id, after, upTo, ingest.Value.LoadLease, work.Token))
                throw new LoadLostException(load.Id);
            after = upTo;
            if (IsExhausted())
                return null;
        }

        // Read again, because the metadata may arrive after the zip. It decides whether mails are sent.
        var metadata = await MetadataFile.ReadAsync(blobs, load.Blob.Name, load.Breach, work.Token);
        var end = new MatchEnd(metadata.Document, mail.Value.Notify == NotifyMode.Hold, metadata.HeldBecause(load.Id))
        {
            StepRows = Math.Min(StepRows, MaxStepRows),
            CountRows = (long)StepRows * CountRanges,
            Lease = ingest.Value.LoadLease,
            CallsClients = await calls.HasClientsAsync(work.Token),
        };
        while (true)
        {
            // For each step, because any may be the last: a mark that is older than a step would no longer be honoured.
            var change = await catalogue.BeginChangeAsync(work.Token);
            switch (await notifications.FinishMatchingAsync(load.Id, end, work.Token))
            {
                case null:
                    throw new LoadLostException(load.Id);
                case not LoadState.Matching and var state:
                    // Mails are sent even if readers don't see the load yet. The lease ended with the match.
                    await change.TryPublishAsync(cancellationToken);
                    return state;
            }
            await change.AbandonAsync(work.Token);
            if (IsExhausted())
                return null;
        }
    }
}
