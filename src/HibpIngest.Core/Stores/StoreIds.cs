namespace HibpIngest.Stores;

/// <summary>Ids of loads and of marks: how far they have been drawn, inserted or confirmed.</summary>
public sealed record StoreIds(long Load, int Mark);
