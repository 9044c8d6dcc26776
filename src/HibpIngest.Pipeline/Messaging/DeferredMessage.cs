namespace HibpIngest.Pipeline.Messaging;

/// <summary>A message that was deferred because a store is unavailable.</summary>
/// <param name="Load">Its load; 0: none, or not known.</param>
/// <param name="Delay">How long the message stays invisible.</param>
public sealed record DeferredMessage(string Queue, long Load, StoreUnavailableException Error, TimeSpan Delay);
