using HibpIngest.Breaches;

namespace HibpIngest.Sql;

/// <summary>What the port returns, made from rows whose columns every provider selects in the same order.</summary>
internal static class RowReaders
{
    /// <summary>id (0: none yet), name, metadata, hidden, published_at.</summary>
    public static Breach Breach(IRow row) => new()
    {
        Id = row.Int32(0),
        Name = row.Text(1),
        Metadata = StoredText.ToMetadata(row.Text(2)),
        Hidden = row.Boolean(3),
        PublishedAt = row.TimeOrNull(4),
    };

    /// <summary>load, number, first, last, count, state, attempts, error, queued_at, done_at.</summary>
    public static Slice Slice(IRow row) => new()
    {
        Load = row.Int64(0),
        Number = row.Int32(1),
        First = row.Int64(2),
        Last = row.Int64(3),
        Count = row.Int32(4),
        State = StoredText.ToSliceState(row.Text(5)),
        Attempts = row.Int32(6),
        Error = row.TextOrNull(7),
        QueuedAt = row.TimeOrNull(8),
        DoneAt = row.TimeOrNull(9),
    };

    /// <summary>id, number, email, domain (empty: none), accounts.</summary>
    public static Notification Notification(IRow row) => new()
    {
        Id = row.Int64(0),
        Number = row.Int32(1),
        Email = row.Text(2),
        Domain = DomainOrNull(row, 3),
        Accounts = row.Int64(4),
    };

    /// <summary>email, domain (empty: none).</summary>
    public static Subscription Subscription(IRow row) => new(row.Text(0), DomainOrNull(row, 1));

    /// <summary>
    /// id, breach's name and id (0: none yet), blob, etag, state, settings, checkpoint, accounts, last and matched position, batches, ingest_complete, duplicates_possible, purged, error,
    /// started_at, ingested_at, upserted_at, finished_at, expiry of the lease where it is alive.
    /// </summary>
    public static Load Load(IRow row, SliceCounts slices, long entities, NotificationCounts notifications) => new()
    {
        Id = row.Int64(0),
        Breach = row.Text(1),
        BreachId = row.Int32(2),
        Blob = new BlobVersion(row.Text(3), row.Text(4)),
        State = StoredText.ToLoadState(row.Text(5)),
        Settings = StoredText.ToSettings(row.Text(6)),
        Checkpoint = StoredText.ToCheckpoint(row.Text(7)),
        Accounts = row.Int64(8),
        LastPosition = row.Int64(9),
        MatchedPosition = row.Int64(10),
        Batches = row.Int32(11),
        IngestComplete = row.Boolean(12),
        DuplicatesPossible = row.Boolean(13),
        Purged = row.Boolean(14),
        Error = row.TextOrNull(15),
        StartedAt = row.Time(16),
        IngestedAt = row.TimeOrNull(17),
        UpsertedAt = row.TimeOrNull(18),
        FinishedAt = row.TimeOrNull(19),
        LeaseExpiresAt = row.TimeOrNull(20),
        Slices = slices,
        Entities = entities,
        Notifications = notifications,
    };

    private static string? DomainOrNull(IRow row, int column) => row.Text(column) is { Length: > 0 } domain ? domain : null;
}
