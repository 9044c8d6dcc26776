using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>A message that was put off, as what it needs is down.</summary>
/// <param name="Queue">Its queue.</param>
/// <param name="Load">Its load; 0: none, or none that is known.</param>
/// <param name="Error">What is down.</param>
/// <param name="Delay">When it comes again.</param>
public sealed record PutOff(string Queue, long Load, StoreUnavailableException Error, TimeSpan Delay);
