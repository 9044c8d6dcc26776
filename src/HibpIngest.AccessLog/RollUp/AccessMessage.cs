using HibpIngest.Messages;

namespace HibpIngest.AccessLog;

/// <summary>A sealed blob of the access log to count.</summary>
/// <param name="Blob">Its name within the container.</param>
[Queue(QueueNames.AccessRollUp)]
public sealed record AccessMessage(string Blob) : WorkMessage
{
    protected override bool IsComplete() => Blob is { Length: > 0 };
}
