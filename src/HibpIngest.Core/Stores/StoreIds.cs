namespace HibpIngest.Stores;

/// <summary>Ids of loads and of marks: how far they have been drawn, inserted or confirmed.</summary>
/// <param name="Load">Of loads.</param>
/// <param name="Mark">Of marks.</param>
public sealed record StoreIds(long Load, int Mark);
