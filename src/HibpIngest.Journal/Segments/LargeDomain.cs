namespace HibpIngest.Journal.Segments;

/// <summary>
/// A domain with at least <see cref="SegmentLimits.LargeDomainRows"/> rows in a segment, which a rebuild may have to split.
/// </summary>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record LargeDomain(string Domain, int Rows);
