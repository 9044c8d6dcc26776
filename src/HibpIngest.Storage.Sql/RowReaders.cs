namespace HibpIngest.Storage.Sql;

internal static class RowReaders
{
    /// <summary>
    /// Columns: name, metadata, hidden, published_at, mark (null: none). One row for each mark of a breach, the rows of a breach together
    /// and its marks ascending.
    /// </summary>
    public static void AddBreach(List<Breach> breaches, IRow row)
    {
        if (breaches.Count == 0 || breaches[^1].Name != row.Text(0))
        {
            breaches.Add(new Breach
            {
                Name = row.Text(0),
                Metadata = StoredText.ToMetadata(row.Text(1)),
                Hidden = row.Boolean(2),
                PublishedAt = row.TimeOrNull(3),
            });
        }
        if (!row.IsNull(4) && !breaches[^1].Marks.Contains(row.Int32(4)))
            breaches[^1] = breaches[^1] with { Marks = [.. breaches[^1].Marks, row.Int32(4)] };
    }

    /// <summary>
    /// Columns: name, metadata, hidden, published_at, mark (null: none), modified_at, accounts, blob, log version. One row for each
    /// published load of a breach, or one without, the rows of a breach together and its newest load first.
    /// </summary>
    public static void AddCatalogueBreach(List<CatalogueBreach> breaches, IRow row)
    {
        if (breaches.Count == 0 || breaches[^1].Breach.Name != row.Text(0))
        {
            var found = new List<Breach>();
            AddBreach(found, row);
            breaches.Add(new CatalogueBreach(found[0] with { Marks = [] }, 0, row.TimeOrNull(5), []));
        }
        breaches[^1] = breaches[^1] with { LogVersion = Math.Max(breaches[^1].LogVersion, row.Int64(8)) };
        if (row.IsNull(4))
            return;
        var (breach, mark) = (breaches[^1], row.Int32(4));
        breaches[^1] = breach with
        {
            // Loads of a store upgraded from schema 1 share theirs.
            Breach = breach.Breach with { Marks = [.. breach.Breach.Marks.Append(mark).Distinct().Order()] },
            Accounts = breach.Accounts + row.Int64(6),
            Zips = [.. breach.Zips, row.Text(7)],
        };
    }

    /// <summary>
    /// Columns: id, breach's name, hidden, blob, etag, state, mark (0: none), expiry of the lease if it is live, message_sent_at, whether
    /// writing is no longer allowed, purged.
    /// </summary>
    public static LoadHead LoadHead(IRow row) => new()
    {
        Id = row.Int64(0),
        Breach = row.Text(1),
        Hidden = row.Boolean(2),
        Blob = new BlobVersion(row.Text(3), row.Text(4)),
        State = StoredText.ToLoadState(row.Text(5)),
        Mark = row.Int32(6),
        LeaseExpiresAt = row.TimeOrNull(7),
        MessageSentAt = row.TimeOrNull(8),
        Stopped = row.Boolean(9),
        Purged = row.Boolean(10),
    };

    /// <summary>Columns: load, number, first, last, count, state, attempts, error, queued_at, done_at.</summary>
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

    /// <summary>Columns: id, number, email, domain (empty: none), accounts, attempts, deferrals, open, error, refused.</summary>
    public static Notification Notification(IRow row) => new()
    {
        Id = row.Int64(0),
        Number = row.Int32(1),
        Email = row.Text(2),
        Domain = DomainOrNull(row, 3),
        Accounts = row.Int64(4),
        Attempts = row.Int32(5),
        Deferrals = row.Int32(6),
        IsOpen = row.Boolean(7),
        Error = row.IsNull(8) ? null : row.Text(8),
        IsRefused = row.Boolean(9),
    };

    /// <summary>Columns: email, domain (empty: none).</summary>
    public static Subscription Subscription(IRow row) => new(row.Text(0), DomainOrNull(row, 1));

    /// <summary>
    /// Columns: id, breach's name, mark (0: none yet), blob, etag, state, settings, checkpoint, accounts, last and matched position,
    /// batches, ingest_complete, duplicates_possible, purged, error, started_at, ingested_at, upserted_at, finished_at, expiry of the lease
    /// if it is live, published_at, replaced_by, superseded, removing, held_because, attempts, message_sent_at, mails_queued, expiry of the
    /// lease if it has expired, log_version, logged_version, log_message_at, log_error, calls (null: none), call_error, call_messages_at,
    /// counts of calls (all, answered, open, dead); counts of slices (pending, queued, done, failed), entities, counts of notifications
    /// (waiting, sent, failed).
    /// </summary>
    public static Load Load(IRow row) => new()
    {
        Id = row.Int64(0),
        Breach = row.Text(1),
        Mark = row.Int32(2),
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
        PublishedAt = row.TimeOrNull(21),
        ReplacedBy = row.NumberOrNull(22),
        Superseded = row.Boolean(23),
        Removing = row.Boolean(24),
        HeldBecause = row.TextOrNull(25),
        Attempts = row.Int32(26),
        MessageSentAt = row.TimeOrNull(27),
        MailsQueued = row.Int32(28),
        LeaseRanOutAt = row.TimeOrNull(29),
        LogVersion = row.Int64(30),
        LoggedVersion = row.NumberOrNull(31),
        LogMessageAt = row.TimeOrNull(32),
        LogError = row.TextOrNull(33),
        Calls = row.IsNull(34) ? null : new CallProgress(
            row.Text(34) == "made", row.Int64(37), row.Int64(38), row.Int64(39), row.Int64(40), row.TextOrNull(35), row.TimeOrNull(36))
        {
            IsFailed = row.Text(34) == "failed",
        },
        Slices = new SliceCounts(row.Int32(41), row.Int32(42), row.Int32(43), row.Int32(44)),
        Entities = row.Int64(45),
        Notifications = new NotificationCounts(row.Int32(46), row.Int32(47), row.Int32(48)),
    };

    private static string? DomainOrNull(IRow row, int column) => row.Text(column) is { Length: > 0 } domain ? domain : null;
}
