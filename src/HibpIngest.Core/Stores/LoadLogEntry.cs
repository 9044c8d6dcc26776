using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>What the account log is to tell of a load.</summary>
public sealed record LoadLogEntry
{
    public required long Load { get; init; }

    /// <summary>Its mark; 0 until its first batch has committed.</summary>
    public required int Mark { get; init; }

    public required BlobVersion Blob { get; init; }

    /// <summary>Counts the restarts of its blob version, from 1.</summary>
    public required int Generation { get; init; }

    public required DateTimeOffset StartedAt { get; init; }

    public required LoadSettings Settings { get; init; }

    /// <summary>Rows that it has, so far.</summary>
    public required long LastPosition { get; init; }

    /// <summary>Its accounts, as told of it.</summary>
    public required long Accounts { get; init; }

    /// <summary>All its rows are copied.</summary>
    public required bool IsComplete { get; init; }

    /// <summary>Nothing of it is told: it is being removed, or it doesn't count and was superseded, or restarted as another load.</summary>
    public required bool Stopped { get; init; }

    public required bool Removing { get; init; }

    /// <summary>Some of its rows, or all, are purged.</summary>
    public required bool Purged { get; init; }

    /// <summary>Since when its mark counts; null: it doesn't.</summary>
    public required DateTimeOffset? PublishedAt { get; init; }

    public required Breach Breach { get; init; }

    /// <summary>When what is told of the breach last changed.</summary>
    public required DateTimeOffset? ModifiedAt { get; init; }

    /// <summary>Of the catalogue, when any of this last changed.</summary>
    public required long Version { get; init; }

    /// <summary>The version that its newest document tells; null: it has none.</summary>
    public required long? LoggedVersion { get; init; }

    /// <summary>The account log tells of it, and nothing has changed since.</summary>
    public bool IsLogged => LoggedVersion >= Version;

    /// <summary>Loads in whose place it was published.</summary>
    public IReadOnlyList<long> Replaces { get; init; } = [];

    /// <summary>Its segments, in order; none before they are planned.</summary>
    public IReadOnlyList<LogSegment> Segments { get; init; } = [];
}

/// <summary>A part of a load that is one blob of the account log.</summary>
/// <param name="Number">From 1.</param>
/// <param name="Bytes">Of the blob; null until it is written.</param>
public sealed record LogSegment(int Number, long First, long Last, long? Bytes);
