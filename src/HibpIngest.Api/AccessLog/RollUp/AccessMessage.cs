namespace HibpIngest.Api.AccessLog.RollUp;

/// <summary>Asks for a sealed blob of the access log to be counted.</summary>
/// <param name="Blob">The blob's name within the container.</param>
[Queue(QueueNames.AccessRollUp)]
public sealed record AccessMessage(string Blob) : WorkMessage
{
    protected override bool IsComplete() => Blob is { Length: > 0 };
}
