namespace HibpIngest.Functions;

/// <summary>Resumes loads, and ingests dropped files for which no Event Grid event arrived.</summary>
public sealed class ResumeIngestFunction(MessageDispatcher messages)
{
    [Function("ResumeIngest")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Ingest, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Ingest, message.Body.ToString(), cancellationToken);
}
