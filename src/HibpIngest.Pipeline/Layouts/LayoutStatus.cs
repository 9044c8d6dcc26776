namespace HibpIngest.Pipeline.Layouts;

/// <summary>A layout that is written.</summary>
/// <param name="MissingRows">Rows of loads that are not in it yet; 0: it may be read.</param>
public sealed record LayoutStatus(StoreLayout Layout, bool IsRead, long MissingRows);
