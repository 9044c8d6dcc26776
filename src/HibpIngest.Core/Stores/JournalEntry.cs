namespace HibpIngest.Stores;

public sealed record JournalEntry
{
    public required LoadId Load { get; init; }

    /// <summary>0 until the load's first batch has committed.</summary>
    public required int Mark { get; init; }
    public required BlobVersion Blob { get; init; }

    /// <summary>Counts the restarts of its blob version, from 1.</summary>
    public required int Generation { get; init; }
    public required DateTimeOffset StartedAt { get; init; }
    public required LoadSettings Settings { get; init; }

    /// <summary>Number of rows so far.</summary>
    public required long LastPosition { get; init; }

    /// <summary>Public number of accounts.</summary>
    public required long Accounts { get; init; }
    public required bool IsComplete { get; init; }

    /// <summary>
    /// Nothing of the load is written: it is being removed, or is unpublished and was superseded or restarted as another load.
    /// </summary>
    public required bool Stopped { get; init; }
    public required bool Removing { get; init; }
    public required bool Purged { get; init; }

    /// <summary>Time at which the load's mark became current. Null if it is not current.</summary>
    public required DateTimeOffset? PublishedAt { get; init; }
    public required Breach Breach { get; init; }
    public required DateTimeOffset? ModifiedAt { get; init; }

    /// <summary>Catalogue version at the last change to any of this.</summary>
    public required long Version { get; init; }

    /// <summary>Version that the load's newest document describes. Null if there is no document.</summary>
    public required long? JournaledVersion { get; init; }
    public bool IsJournaled => JournaledVersion >= Version;
    public IReadOnlyList<LoadId> Replaces { get; init; } = [];

    /// <summary>The segments in order; none before they are planned.</summary>
    public IReadOnlyList<JournalSegment> Segments { get; init; } = [];
}

/// <summary>A part of a load that is one blob of the journal.</summary>
/// <param name="Number">Number, counted from 1.</param>
/// <param name="Bytes">Size of the blob; null until it is written.</param>
public sealed record JournalSegment(int Number, long First, long Last, long? Bytes);

public enum JournalMode
{
    /// <summary>Each load is written once its accounts are in the tables.</summary>
    On,

    /// <summary>Nothing is written: data that SQL loses or purges can only be rebuilt from the archives.</summary>
    Off,
}
