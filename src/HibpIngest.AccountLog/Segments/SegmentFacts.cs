using HibpIngest.Breaches;

namespace HibpIngest.AccountLog;

/// <summary>What a segment's header says of it: whose rows it holds, and which.</summary>
public sealed record SegmentFacts
{
    /// <summary>Id of the store that gave load and mark their numbers.</summary>
    public required Guid Store { get; init; }

    public required long Load { get; init; }

    /// <summary>The load's property in the account table.</summary>
    public required int Mark { get; init; }

    /// <summary>What the load was read from.</summary>
    public required BlobVersion Blob { get; init; }

    /// <summary>Of the load's segments: 0 until they are written anew.</summary>
    public int Generation { get; init; }

    /// <summary>When the load started; kept in whole milliseconds.</summary>
    public required DateTimeOffset StartedAt { get; init; }

    public required string Breach { get; init; }

    /// <summary>What the load's positions depend on.</summary>
    public required int ExtractorVersion { get; init; }

    public required int BatchRows { get; init; }

    /// <summary>Most rows of a block.</summary>
    public required int SliceRows { get; init; }

    /// <summary>Position (1-based) of the first row within the load.</summary>
    public required long First { get; init; }

    public required long Last { get; init; }

    public long Rows => Last - First + 1;
}
