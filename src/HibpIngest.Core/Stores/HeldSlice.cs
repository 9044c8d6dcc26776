namespace HibpIngest.Stores;

/// <summary>A slice that somebody is at work on.</summary>
/// <param name="Owner">Who it is: another for each try.</param>
public sealed record HeldSlice(long Load, int Number, string Owner);
