namespace HibpIngest.Breaches;

/// <summary>One run of one blob version of a breach through the pipeline.</summary>
public sealed record Load
{
    public required LoadId Id { get; init; }
    public required string Breach { get; init; }

    /// <summary>
    /// The load's property in the account table is <c>b{Mark}</c>; 0 until its first batch has committed. Unique to this load, except in
    /// stores upgraded from schema 1.
    /// </summary>
    public int Mark { get; init; }

    /// <summary>
    /// Time at which the mark became current. Null if it is not current (not matched yet, failed before, replaced, or being removed).
    /// </summary>
    public DateTimeOffset? PublishedAt { get; init; }

    /// <summary>The load of the same blob name that was published in place of this one.</summary>
    public LoadId? ReplacedBy { get; init; }

    /// <summary>The blob was replaced or deleted while it was being read: the load can't be resumed.</summary>
    public bool Superseded { get; init; }
    public bool Removing { get; init; }

    /// <summary>One line: why the mails wait for an operator, regardless of the metadata.</summary>
    public string? HeldBecause { get; init; }

    /// <summary>Attempts since the last progress. Exceeding the maximum means that the load crashes its process each time.</summary>
    public int Attempts { get; init; }

    /// <summary>Time at which the message for the current state (match, mail) was last sent.</summary>
    public DateTimeOffset? MessageSentAt { get; init; }

    /// <summary>Highest number of a notification for which a message was sent.</summary>
    public int LastQueuedNotification { get; init; }
    public required BlobVersion Blob { get; init; }
    public required LoadState State { get; init; }

    /// <summary>Everything that the load's positions depend on. A rerun uses these values, not the current ones.</summary>
    public required LoadSettings Settings { get; init; }
    public required LoadCheckpoint Checkpoint { get; init; }

    /// <summary>
    /// Accounts copied so far (the last committed position). Replaced by an exact count during matching if duplicates were possible.
    /// </summary>
    public long Accounts { get; init; }
    public long LastPosition { get; init; }

    /// <summary>Positions up to this one have been matched.</summary>
    public long MatchedPosition { get; init; }
    public int Batches { get; init; }

    /// <summary>All entries have been read and every row is committed.</summary>
    public bool IngestComplete { get; init; }

    /// <summary>The dedupe set had no room for all accounts: later ones may be duplicates.</summary>
    public bool DuplicatesPossible { get; init; }
    public bool Purged { get; init; }

    /// <summary>The load was recovered from the journal: it has rows, but none was copied in this database.</summary>
    public bool IsRecovered => Batches == 0 && LastPosition > 0;
    public string? Error { get; init; }
    public required DateTimeOffset StartedAt { get; init; }
    public DateTimeOffset? IngestedAt { get; init; }

    /// <summary>Time at which the last slice was completed.</summary>
    public DateTimeOffset? UpsertedAt { get; init; }

    /// <summary>Time at which the load was done or failed.</summary>
    public DateTimeOffset? FinishedAt { get; init; }
    public DateTimeOffset? LeaseExpiresAt { get; init; }

    /// <summary>Expiry of a lease that its owner never released, because the owner crashed.</summary>
    public DateTimeOffset? LeaseRanOutAt { get; init; }

    /// <summary>Catalogue version of the last change that the journal must record.</summary>
    public long ChangedVersion { get; init; }

    /// <summary>Catalogue version that the journal has recorded. Null if the journal has no document of this load.</summary>
    public long? JournaledVersion { get; init; }

    /// <summary>Time at which the message for writing the journal was last sent.</summary>
    public DateTimeOffset? JournalMessageAt { get; init; }

    /// <summary>One line: why writing the journal failed.</summary>
    public string? JournalError { get; init; }

    /// <summary>Progress of the callbacks. Null if no client is called for this load.</summary>
    public CallProgress? Calls { get; init; }

    /// <summary>True if callbacks are outstanding: slices still to be searched, or callbacks to clients that aren't paused.</summary>
    public bool AwaitsCalls => Calls is { } calls
        && (calls.Open > calls.Paused || (PublishedAt is not null && calls is { IsSearched: false, IsFailed: false }));

    public bool IsJournaled => JournaledVersion >= ChangedVersion;

    /// <summary>
    /// True if the load still has to be written to the journal: it is published and not up to date there, and its rows or its segments
    /// exist.
    /// </summary>
    public bool AwaitsJournal => PublishedAt is not null && !IsJournaled && (JournaledVersion is not null || !Purged);
    public SliceCounts Slices { get; init; } = new(0, 0, 0, 0);
    public long Entities { get; init; }

    /// <summary>Fraction of the archive that has been read and committed, 0 to 1.</summary>
    public double IngestedFraction =>
        IngestComplete ? 1 : Checkpoint.BlobBytes > 0 ? Math.Clamp((double)Checkpoint.BlobBytesRead / Checkpoint.BlobBytes, 0, 1) : 0;

    /// <summary>
    /// Fraction of the archive whose accounts are searchable, 0 to 1: the fraction read times the fraction of its slices that are done. 1
    /// for a published load, even while slices are being rewritten; 0 for a load that is being removed.
    /// </summary>
    public double SearchableFraction =>
        Removing ? 0 : PublishedAt is not null ? 1 : Slices.Total > 0 ? IngestedFraction * Slices.Done / Slices.Total : 0;

    public NotificationCounts Notifications { get; init; } = new(0, 0, 0);
}

public sealed record SliceCounts(int Pending, int Queued, int Done, int Failed)
{
    public int Total => Pending + Queued + Done + Failed;
}

public sealed record NotificationCounts(int Open, int Sent, int Failed)
{
    public int Total => Open + Sent + Failed;
}

/// <summary>States of a load; stored and displayed by name in lower case.</summary>
public enum LoadState
{
    Ingesting,
    Upserting,
    Matching,
    Held,
    Notifying,
    Done,
    Failed,
}

/// <summary>The row of a load without the counts of its slices and notifications.</summary>
public sealed record LoadHead
{
    public required LoadId Id { get; init; }
    public required string Breach { get; init; }
    public bool Hidden { get; init; }
    public required BlobVersion Blob { get; init; }
    public required LoadState State { get; init; }
    public int Mark { get; init; }
    public DateTimeOffset? LeaseExpiresAt { get; init; }

    /// <summary>Nothing may be written for this load any more: it is superseded, restarted as another load, or being removed.</summary>
    public bool Stopped { get; init; }
}

/// <param name="Id">Drawn from the store register.</param>
/// <param name="Settings">Everything that the load's positions depend on.</param>
public sealed record NewLoad(LoadId Id, string Breach, BlobVersion Blob, LoadSettings Settings)
{
    /// <summary>The metadata document next to the file, merged into the breach's metadata. Null if there is none.</summary>
    public ReadOnlyMemory<byte>? Metadata { get; init; }

    /// <summary>One line: why the load can't start. It is then recorded as failed, and its metadata is not merged.</summary>
    public string? Failure { get; init; }

    /// <summary>One line: why the mails must wait for an operator.</summary>
    public string? HeldBecause { get; init; }
}

/// <summary>Progress of a load's callbacks.</summary>
/// <param name="IsSearched">All slices were searched, so the set of calls is complete.</param>
/// <param name="Calls">Calls known so far, in any state.</param>
/// <param name="Open">Calls still to be made.</param>
/// <param name="Abandoned">Calls that were abandoned after the time limit; an operator retries or drops them.</param>
/// <param name="Error">One line: why slices could not be searched. Null if no error.</param>
/// <param name="MessagesAt">When the messages for searching the slices were last sent.</param>
public sealed record CallProgress(
    bool IsSearched, long Calls, long Answered, long Open, long Abandoned, string? Error, DateTimeOffset? MessagesAt)
{
    /// <summary>A slice could not be read. No slice is searched until an operator retries (hibp callbacks retry).</summary>
    public bool IsFailed { get; init; }

    /// <summary>The number of <see cref="Open"/> calls whose clients are paused; only set if requested (CallSchedule).</summary>
    public long Paused { get; init; }
}

/// <summary>One version of a blob: its name in the container and its ETag (as the service returns it, including quotes).</summary>
public sealed record BlobVersion(string Name, string ETag);
