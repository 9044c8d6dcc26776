using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Takes each message to its stage, and each dropped blob that an event announces.</summary>
public sealed class PipelineDispatcher(
    StageRunner runner, IngestBreach ingest, UpsertSlice upsert, MatchSubscribers match, SendNotifications send, LogLoad log,
    CallClients call, DeliverCallbacks deliver, LoadStart starts, IBreachBlobs blobs)
{
    /// <summary>
    /// Returns when the message's work is durably done (or safely sent on); then, and only then, it may be
    /// deleted.
    /// </summary>
    /// <exception cref="UnreadableMessageException">The body is not a message of that queue.</exception>
    public Task DispatchAsync(string queue, string body, CancellationToken cancellationToken) => queue switch
    {
        QueueNames.Ingest => runner.RunAsync(PipelineMessage.Parse<IngestMessage>(body), ingest, cancellationToken),
        QueueNames.Slices => runner.RunAsync(PipelineMessage.Parse<SliceMessage>(body), upsert, cancellationToken),
        QueueNames.Match => runner.RunAsync(PipelineMessage.Parse<MatchMessage>(body), match, cancellationToken),
        QueueNames.Mail => runner.RunAsync(PipelineMessage.Parse<MailMessage>(body), send, cancellationToken),
        QueueNames.Calls => runner.RunAsync(PipelineMessage.Parse<CallMessage>(body), call, cancellationToken),
        QueueNames.Callbacks => runner.RunAsync(PipelineMessage.Parse<CallbackMessage>(body), deliver, cancellationToken),
        QueueNames.Log => runner.RunAsync(PipelineMessage.Parse<LogMessage>(body), log, cancellationToken),
        _ => throw new ArgumentException(
            $"no stage takes messages of queue '{queue}'; expected one of {string.Join(", ", QueueNames.Loads)}", nameof(queue)),
    };

    /// <summary>
    /// Takes on the present version of a blob that an event announced, and ingests it. As for
    /// <see cref="BlobScan"/>, a version fires once: another event of it does nothing, except that it goes on
    /// with what was cut off. Returns when the ingest has ended, or is safely handed on.
    /// </summary>
    /// <param name="blob">Its name within the container.</param>
    /// <param name="cancellationToken">Stops it at a batch.</param>
    /// <exception cref="StoreUnavailableException">The blobs can't be reached, so that there is nothing yet to
    /// be sent on; the next blob scan finds it too.</exception>
    public async Task IngestBlobAsync(string blob, CancellationToken cancellationToken)
    {
        // Metadata, a logo, or nothing to us.
        if (BreachFiles.FormatOf(blob) is null)
            return;
        // Gone, or replaced: whatever is there now has an event of its own.
        if (await blobs.FindAsync(blob, cancellationToken) is not { Version: var version })
            return;
        if (!BreachName.IsRefused(blob))
        {
            await runner.RunAsync(new IngestMessage { Blob = version.Name, ETag = version.ETag }, ingest, cancellationToken);
            return;
        }
        await runner.EnsureStoresAsync(cancellationToken);
        await starts.RefuseAsync(version, cancellationToken);
    }
}
