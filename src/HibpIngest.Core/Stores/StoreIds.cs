namespace HibpIngest.Stores;

/// <summary>The highest drawn, inserted or confirmed ids of loads and marks.</summary>
public sealed record StoreIds(long Load, int Mark);
