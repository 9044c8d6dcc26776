namespace HibpIngest.Stores;

/// <summary>A slice that somebody is at work on.</summary>
/// <param name="Load">Its load.</param>
/// <param name="Number">Its number there.</param>
/// <param name="Owner">Who it is: another for each try.</param>
public sealed record HeldSlice(long Load, int Number, string Owner);
