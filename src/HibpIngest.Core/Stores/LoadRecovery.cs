using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>A load as the account log tells of it.</summary>
public sealed record LoadRecovery
{
    public required long Load { get; init; }

    public required int Mark { get; init; }

    public required BlobVersion Blob { get; init; }

    /// <summary>Counts the restarts of its blob version, from 1.</summary>
    public required int Generation { get; init; }

    /// <summary>When it was recorded, in whole milliseconds.</summary>
    public required DateTimeOffset StartedAt { get; init; }

    public required LoadSettings Settings { get; init; }

    public required long Rows { get; init; }

    /// <summary>Its accounts, as told of it.</summary>
    public required long Accounts { get; init; }

    /// <summary>Of the log, all written; needed of a load that is not published here.</summary>
    public required IReadOnlyList<LogSegment> Segments { get; init; }

    /// <summary>Its slices; needed as the segments are.</summary>
    public required IReadOnlyList<Slice> Slices { get; init; }

    /// <summary>Layouts that have all of its accounts; what is in no other is missing there.</summary>
    public required IReadOnlyList<int> FullLayouts { get; init; }

    /// <summary>The version that its newest document tells.</summary>
    public required long Version { get; init; }

    /// <summary>Since when its mark counts, or did.</summary>
    public required DateTimeOffset PublishedAt { get; init; }

    /// <summary>The load that was published in its place; null: it counts.</summary>
    public required long? ReplacedBy { get; init; }

    public required BreachRecovery Breach { get; init; }
}

/// <summary>A breach as the newest document of its loads tells of it.</summary>
public sealed record BreachRecovery
{
    public required string Name { get; init; }

    public required BreachMetadata Metadata { get; init; }

    /// <summary>It is in no lookup.</summary>
    public required bool Hidden { get; init; }

    /// <summary>When the first of its loads was published.</summary>
    public required DateTimeOffset PublishedAt { get; init; }

    /// <summary>When what is told of it last changed.</summary>
    public required DateTimeOffset ModifiedAt { get; init; }

    /// <summary>Of the catalogue, when any of this last changed.</summary>
    public required long Version { get; init; }

    /// <summary>A document tells all of this; false: it is hidden as nothing says that it may be shown.</summary>
    public required bool IsTold { get; init; }
}
