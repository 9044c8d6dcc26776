namespace HibpIngest.Stores;

/// <summary>A slice with a live lease.</summary>
/// <param name="Owner">Owner of the lease; differs for each attempt.</param>
public sealed record HeldSlice(long Load, int Number, string Owner);
