namespace HibpIngest.Stores;

/// <summary>A load as described by the journal.</summary>
public sealed record LoadRecovery
{
    public required LoadId Load { get; init; }
    public required int Mark { get; init; }
    public required BlobVersion Blob { get; init; }

    /// <summary>Counts the restarts of its blob version, from 1.</summary>
    public required int Generation { get; init; }

    /// <summary>When the load was recorded, in whole milliseconds.</summary>
    public required DateTimeOffset StartedAt { get; init; }
    public required LoadSettings Settings { get; init; }
    public required long Rows { get; init; }

    /// <summary>Public number of accounts.</summary>
    public required long Accounts { get; init; }

    /// <summary>The journal's segments, all written; required for a load that is not published here.</summary>
    public required IReadOnlyList<JournalSegment> Segments { get; init; }

    /// <summary>Required under the same condition as <see cref="Segments"/>.</summary>
    public required IReadOnlyList<Slice> Slices { get; init; }

    /// <summary>Layouts that hold all of its accounts; all other layouts lack the load.</summary>
    public required IReadOnlyList<int> FullLayouts { get; init; }

    /// <summary>Version that the load's newest document describes.</summary>
    public required long Version { get; init; }

    /// <summary>Time at which the load's mark became current.</summary>
    public required DateTimeOffset PublishedAt { get; init; }

    /// <summary>Load that was published in place of this one. Null if this load's mark is current.</summary>
    public required LoadId? ReplacedBy { get; init; }
    public required BreachRecovery Breach { get; init; }
}

/// <summary>A breach as described by the newest document of its loads.</summary>
public sealed record BreachRecovery
{
    public required string Name { get; init; }
    public required BreachMetadata Metadata { get; init; }
    public required bool Hidden { get; init; }
    public required DateTimeOffset PublishedAt { get; init; }
    public required DateTimeOffset ModifiedAt { get; init; }

    /// <summary>Catalogue version at the last change to any of this.</summary>
    public required long Version { get; init; }

    /// <summary>A document holds all of this. False: the breach is hidden, because no document says that it may be shown.</summary>
    public required bool IsReported { get; init; }
}

public enum RecoveryStep
{
    /// <summary>Nothing changed: the load and its breach were known already.</summary>
    Known,

    /// <summary>The load was published here; its data, or that of its breach, was older and has been updated.</summary>
    Updated,

    Added,

    /// <summary>The load was known and unpublished: rows of it may remain, which must be purged.</summary>
    Finished,

    /// <summary>Nothing changed: the load is being removed.</summary>
    Removing,
}
