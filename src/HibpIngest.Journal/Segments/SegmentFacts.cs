namespace HibpIngest.Journal.Segments;

/// <summary>The facts in a segment's header.</summary>
public sealed record SegmentFacts
{
    /// <summary>Id of the store that numbered the load and the mark.</summary>
    public required Guid Store { get; init; }

    public required long Load { get; init; }

    /// <summary>The load's property in the account table.</summary>
    public required int Mark { get; init; }

    /// <summary>The breach archive.</summary>
    public required BlobVersion Blob { get; init; }

    /// <summary>Counts how often the load's segments were rewritten, from 0.</summary>
    public int Generation { get; init; }

    /// <summary>Stored in whole milliseconds.</summary>
    public required DateTimeOffset StartedAt { get; init; }

    public required string Breach { get; init; }

    /// <summary>The load's positions depend on it.</summary>
    public required int ExtractorVersion { get; init; }

    public required int BatchRows { get; init; }

    /// <summary>Maximum rows of a block.</summary>
    public required int SliceRows { get; init; }

    /// <summary>Position (1-based) of the first row within the load.</summary>
    public required long First { get; init; }

    public required long Last { get; init; }

    public long Rows => Last - First + 1;
}
