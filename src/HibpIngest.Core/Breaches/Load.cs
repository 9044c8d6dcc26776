namespace HibpIngest.Breaches;

/// <summary>One run of one blob version of a breach through the pipeline.</summary>
public sealed record Load
{
    public required long Id { get; init; }

    public required string Breach { get; init; }

    /// <summary>
    /// Its property <c>b{Mark}</c> in the account table; 0 until its first batch has committed. Of this load
    /// alone, but for loads of a store that was upgraded from schema 1.
    /// </summary>
    public int Mark { get; init; }

    /// <summary>
    /// Since when its mark counts; null: it doesn't (not matched yet, failed before, replaced, or being
    /// removed).
    /// </summary>
    public DateTimeOffset? PublishedAt { get; init; }

    /// <summary>The load of the same blob name that was published in its place.</summary>
    public long? ReplacedBy { get; init; }

    /// <summary>Its blob was replaced or deleted while it was read: it can't go on.</summary>
    public bool Superseded { get; init; }

    public bool Removing { get; init; }

    /// <summary>One line: why its mails wait for an operator, whatever its metadata says.</summary>
    public string? HeldBecause { get; init; }

    /// <summary>
    /// How often it was taken since it last got on; more than the tries allowed means that it ends its process
    /// each time.
    /// </summary>
    public int Attempts { get; init; }

    /// <summary>When the message of its state (match, mail) was last sent.</summary>
    public DateTimeOffset? MessageSentAt { get; init; }

    /// <summary>Notifications up to this number have a message.</summary>
    public int MailsQueued { get; init; }

    public required BlobVersion Blob { get; init; }

    public required LoadState State { get; init; }

    /// <summary>What its positions depend on; a rerun uses these, not today's.</summary>
    public required LoadSettings Settings { get; init; }

    /// <summary>Where a rerun starts.</summary>
    public required LoadCheckpoint Checkpoint { get; init; }

    /// <summary>
    /// Accounts copied so far (the last committed position); taken exactly by SQL at matching where duplicates
    /// may have passed.
    /// </summary>
    public long Accounts { get; init; }

    public long LastPosition { get; init; }

    /// <summary>Positions up to here have been matched.</summary>
    public long MatchedPosition { get; init; }

    public int Batches { get; init; }

    /// <summary>All entries have been read and every row is committed.</summary>
    public bool IngestComplete { get; init; }

    /// <summary>The dedupe cap was reached: duplicates may have passed since.</summary>
    public bool DuplicatesPossible { get; init; }

    public bool Purged { get; init; }

    /// <summary>It was made from the account log: nothing was ever copied into it here, and it has rows.</summary>
    public bool IsRecovered => Batches == 0 && LastPosition > 0;

    /// <summary>One line: why it failed.</summary>
    public string? Error { get; init; }

    public required DateTimeOffset StartedAt { get; init; }

    /// <summary>When the last batch had committed.</summary>
    public DateTimeOffset? IngestedAt { get; init; }

    /// <summary>When the last slice was done.</summary>
    public DateTimeOffset? UpsertedAt { get; init; }

    /// <summary>When it was done or failed.</summary>
    public DateTimeOffset? FinishedAt { get; init; }

    /// <summary>Expiry of the ingester's lease; null when nobody holds it.</summary>
    public DateTimeOffset? LeaseExpiresAt { get; init; }

    /// <summary>When the lease of an owner ran out that never gave it back: that one died.</summary>
    public DateTimeOffset? LeaseRanOutAt { get; init; }

    /// <summary>Of the catalogue, when what the account log tells of it last changed.</summary>
    public long LogVersion { get; init; }

    /// <summary>The version that its newest document of the account log tells; null: it has none.</summary>
    public long? LoggedVersion { get; init; }

    /// <summary>When the message that has it logged was last sent.</summary>
    public DateTimeOffset? LogMessageAt { get; init; }

    /// <summary>One line: why it could not be logged.</summary>
    public string? LogError { get; init; }

    /// <summary>How far the calls to clients are; null: nobody is to be called of it.</summary>
    public CallProgress? Calls { get; init; }

    /// <summary>
    /// Clients are called of it, or will be: there are slices to be looked through, or calls to be made to clients that aren't paused.
    /// </summary>
    public bool AwaitsCalls => Calls is { } calls
        && (calls.Open > calls.Paused || (PublishedAt is not null && calls is { IsLookedThrough: false, IsFailed: false }));

    /// <summary>The account log tells of it, and nothing has changed since.</summary>
    public bool IsLogged => LoggedVersion >= LogVersion;

    /// <summary>
    /// The account log is to tell of it, and doesn't yet, or not all: it counts, and its rows, or its segments, are there.
    /// </summary>
    public bool WaitsForLog => PublishedAt is not null && !IsLogged && (LoggedVersion is not null || !Purged);

    public SliceCounts Slices { get; init; } = new(0, 0, 0, 0);

    /// <summary>Entities upserted, as the done slices recorded them.</summary>
    public long Entities { get; init; }

    /// <summary>Part of the archive that has been read and committed, 0 to 1.</summary>
    public double IngestedPart =>
        IngestComplete ? 1 : Checkpoint.BlobBytes > 0 ? Math.Clamp((double)Checkpoint.BlobBytesRead / Checkpoint.BlobBytes, 0, 1) : 0;

    /// <summary>
    /// Part of the archive whose accounts are in the table, 0 to 1: of what has been read, the slices that are
    /// done. A published load is searchable as a whole, also while slices of it are written again; one that is being
    /// removed is not.
    /// </summary>
    public double SearchablePart =>
        Removing ? 0 : PublishedAt is not null ? 1 : Slices.Total > 0 ? IngestedPart * Slices.Done / Slices.Total : 0;

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
