namespace HibpIngest.Pipeline;

/// <summary>
/// Takes a message to its stage, and settles what a failure means in one place: bad input is recorded and acknowledged; a store that is down costs no try (the message is
/// sent again with a growing delay, then acknowledged); anything else is thrown, so that the host retries and, in the end, poisons.
/// </summary>
public sealed class PipelineDispatcher(PipelineContext context)
{
    /// <summary>Returns when the message's work is durably done (or safely sent on); then, and only then, it may be deleted.</summary>
    public Task DispatchAsync(string queue, string body, CancellationToken cancellationToken) => throw new NotImplementedException(context.Owner + queue + body);
}
