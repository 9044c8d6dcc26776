using System.Text.Json.Serialization;
using HibpIngest.Api.AccessLog.Usage;
using HibpIngest.Hosting.Messages;
using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Statistics;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Output;

// The JSON documents of --json. Their shapes are a contract: properties are added, never renamed.

/// <summary>hibp status.</summary>
internal sealed record StatusDocument(
    IReadOnlyList<LoadDocument> Loads, IReadOnlyList<QueueDocument> Queues, IReadOnlyList<HostDocument> Hosts,
    IReadOnlyList<HeldDocument> Held, IReadOnlyList<WaitingDocument> Waiting)
{
    /// <summary>Removals of breaches that are not complete.</summary>
    public IReadOnlyList<RemovalDocument> Removals { get; init; } = [];
}

/// <summary>
/// A removal that is not complete: the remaining loads, and the completed part of their accounts, 0 to 1. Running: whether a live process
/// works on it, else it was interrupted, and hibp breach remove resumes it; null: not known.
/// </summary>
internal sealed record RemovalDocument(string Breach, IReadOnlyList<long> Loads, double Part, bool? Running)
{
    public static RemovalDocument Of(OpenRemoval removal, bool? running) =>
        new(removal.Breach, removal.Loads, Math.Round(removal.Part, 4), running);
}

/// <summary>A host. Missed: whether its heartbeat is missed.</summary>
internal sealed record HostDocument(
    string Host, string Machine, int ProcessId, IReadOnlyList<string> Roles, string Version, DateTimeOffset StartedAt,
    DateTimeOffset SeenAt, bool Missed, IReadOnlyList<TroubleDocument> Troubles);

/// <summary>An unavailable store that a host waits for.</summary>
internal sealed record TroubleDocument(long? Load, string What, string Reason, DateTimeOffset NextTry);

/// <summary>Work leased by a host: a slice of a load, or its ingest or matching.</summary>
internal sealed record HeldDocument(long Load, string Breach, int? Slice, string Owner, DateTimeOffset Until);

/// <summary>A dropped file that no host has picked up.</summary>
internal sealed record WaitingDocument(string Blob, DateTimeOffset Since);

/// <summary>hibp catalogue publish.</summary>
internal sealed record CatalogueDocument(long Version, int Breaches, int Written, int Deleted);

/// <summary>A load, in status and in drop --wait.</summary>
internal sealed record LoadDocument(
    long Load, string Breach, string Blob, string State, long Accounts, long Rejected, int Batches, SlicesDocument Slices,
    int Notifications, string? Error,
    DateTimeOffset StartedAt, DateTimeOffset? FinishedAt, string? HeldBecause, bool Published)
{
    /// <summary>Whether the account log contains the load completely. Null: unpublished loads are not reported.</summary>
    public bool? Logged { get; init; }

    /// <summary>The reason why it is not logged.</summary>
    public string? LogError { get; init; }

    /// <summary>The callbacks. Null: there are none.</summary>
    public CallsDocument? Calls { get; init; }

    /// <summary>Whether it is being removed, or its removal was interrupted.</summary>
    public bool Removing { get; init; }

    /// <summary>Progress and rates, in status only.</summary>
    public FiguresDocument? Figures { get; init; }
}

/// <summary>
/// Progress and rates of a load. Searchable: the part of its archive whose accounts are in the tables, 0 to 1. Left: null if there is no
/// estimate, as for a load that has ended or that no host works on.
/// </summary>
internal sealed record FiguresDocument(
    double Searchable, double RowsPerSecond, double AccountsPerSecond, double ElapsedSeconds, double? LeftSeconds,
    int MailsSent, int MailsOpen, int MailsRefused)
{
    public static FiguresDocument Of(LoadFigures figures, Breaches.Load load) => new(
        Math.Round(figures.Searchable, 4), Round(figures.RowsPerSecond), Round(figures.AccountsPerSecond),
        Round(figures.Elapsed.TotalSeconds), figures.Left is { } left ? Round(left.TotalSeconds) : null,
        load.Notifications.Sent, load.Notifications.Open, load.Notifications.Failed);

    // JSON has no number for an infinite rate.
    private static double Round(double value) => double.IsFinite(value) ? Math.Round(value, 1) : 0;
}

/// <summary>Slices by state.</summary>
internal sealed record SlicesDocument(int Pending, int Queued, int Done, int Failed);

/// <summary>A queue, and the number of messages in its poison queue.</summary>
internal sealed record QueueDocument(string Name, int Messages, int Poison)
{
    /// <summary>The role of the hosts that receive its messages.</summary>
    public string? Role { get; init; }

    /// <summary>Whether a live host has that role.</summary>
    public bool? HasHost { get; init; }
}

/// <summary>
/// hibp demo. Seconds count from the load's start: ingest to the last batch, upsert to the last slice (they run
/// beside each other); notify from there to the last mail.
/// </summary>
internal sealed record DemoDocument(
    string Breach, long Load, long Accounts, long Rejected, int Batches, int Slices, long Entities, int Notifications, DemoSeconds Seconds)
{
    /// <summary>Breaches that the demo's own API returns for the load's first account.</summary>
    public IReadOnlyList<string> Found { get; init; } = [];

    /// <summary>The subscribers of --subscribe.</summary>
    public IReadOnlyList<DemoSubscriber> Subscribed { get; init; } = [];
}

/// <summary>An address of hibp demo --subscribe, and whether it is in the breach and has been notified.</summary>
internal sealed record DemoSubscriber(string Email, bool Told);

/// <summary>Durations, in seconds; total is from the drop to the end.</summary>
internal sealed record DemoSeconds(double Ingest, double Upsert, double Notify, double Total);

/// <summary>hibp lookup.</summary>
internal sealed record LookupDocument(string Account, IReadOnlyList<PublicBreach> Breaches);

/// <summary>hibp lookup -.</summary>
internal sealed record LookupListDocument(IReadOnlyList<LookupDocument> Accounts, IReadOnlyList<LookupRefusal> Refused);

/// <summary>A line of the input that is no address, counted from 1.</summary>
internal sealed record LookupRefusal(int Line, string Reason);

/// <summary>Any command that failed before it had a result; the line is on standard error too.</summary>
internal sealed record ErrorDocument(ErrorLine Error);

/// <summary>The error message and the exit code.</summary>
internal sealed record ErrorLine(string Message, int ExitCode);

/// <summary>hibp breaches.</summary>
internal sealed record BreachesDocument(IReadOnlyList<BreachDocument> Breaches);

/// <summary>A breach as shown to operators; if accountsAtMost is true, accounts are the sum of several loads, which may overlap.</summary>
internal sealed record BreachDocument(
    string Name, string Title, string? Domain, DateOnly? BreachDate, string? Description, IReadOnlyList<string> DataClasses,
    IReadOnlyList<string> Flags,
    bool Public, bool Hidden, DateTimeOffset? PublishedAt, int Loads, long Accounts, bool AccountsAtMost)
{
    /// <summary>Its removal. Null: none is in progress.</summary>
    public RemovalDocument? Removal { get; init; }
}

/// <summary>hibp slices.</summary>
internal sealed record SliceListDocument(string Breach, IReadOnlyList<SliceDocument> Slices);

/// <summary>A slice.</summary>
internal sealed record SliceDocument(
    long Load, int Slice, long First, long Last, int Count, string State, int Attempts, string? Error, DateTimeOffset? QueuedAt,
    DateTimeOffset? DoneAt);

/// <summary>hibp requeue.</summary>
internal sealed record RequeueDocument(string Breach, int Requeued);

/// <summary>hibp poison list.</summary>
internal sealed record PoisonDocument(IReadOnlyList<PoisonQueueDocument> Queues);

/// <summary>A poison queue with the messages at its head.</summary>
internal sealed record PoisonQueueDocument(string Queue, int Messages, IReadOnlyList<PoisonMessageDocument> Head);

/// <summary>A message in a poison queue.</summary>
internal sealed record PoisonMessageDocument(string Id, string Body);

/// <summary>hibp poison requeue and purge.</summary>
internal sealed record QueueChangeDocument(string Queue, int Messages);

/// <summary>hibp resume.</summary>
internal sealed record ResumeDocument(long Load, string Breach, string State);

/// <summary>hibp notify: notifications released; hibp hold: those that wait.</summary>
internal sealed record NotifyDocument(string Breach, int Notifications);

/// <summary>hibp notify --dry-run.</summary>
internal sealed record PreviewDocument(string Breach, IReadOnlyList<PreviewLine> Notifications)
{
    /// <summary>The callbacks that would be sent.</summary>
    public IReadOnlyList<PreviewCallsLine> Calls { get; init; } = [];
}

/// <summary>A client that would be called: the estimated number of calls, and their estimated duration at its cap.</summary>
internal sealed record PreviewCallsLine(string Client, long Calls, bool Exact, int Cap, double Seconds);

/// <summary>A recipient of mails: a null domain is the subscriber's own address.</summary>
internal sealed record PreviewLine(string Email, string? Domain, long Accounts);

/// <summary>hibp breach hide, show and remove.</summary>
internal sealed record BreachChangeDocument(string Breach, bool Hidden, bool Removed, long? Entities)
{
    /// <summary>The removed loads (remove only).</summary>
    public IReadOnlyList<long>? Loads { get; init; }

    /// <summary>The loads dropped during the removal; if there are none, the breach is removed (remove only).</summary>
    public IReadOnlyList<long>? LoadsLeft { get; init; }
}

/// <summary>hibp log list.</summary>
internal sealed record JournalListDocument(IReadOnlyList<JournalListedDocument> Loads);

/// <summary>A load in the account log; breach and rows are null if no document contains them.</summary>
internal sealed record JournalListedDocument(
    string Folder, long Load, string? Breach, string State, long? Rows, int Segments, long Bytes, bool Hidden, DateTimeOffset? PublishedAt)
{
    public static JournalListedDocument Of(JournaledLoad load) => new(
        load.Folder, load.Document?.Load ?? load.Removal?.Load ?? JournalNames.LoadOf(load.Folder), load.Document?.Breach,
        load.State switch
        {
            JournaledState.Counts => "counts",
            JournaledState.Replaced => "replaced",
            JournaledState.Removed => "removed",
            _ => "begun",
        },
        load.Document?.Rows, load.Blobs.Count(blob => blob.Name.EndsWith(JournalNames.SegmentExtension, StringComparison.Ordinal)),
            load.Bytes,
        load.Document?.Hidden ?? false, load.Document?.PublishedAt);
}

/// <summary>hibp log write: what was written, and what can't be any more.</summary>
internal sealed record JournalWrittenDocument(IReadOnlyList<JournalWrittenLoad> Loads, IReadOnlyList<JournalWrittenLoad> Purged);

/// <summary>A load that was logged.</summary>
internal sealed record JournalWrittenLoad(long Load, string Breach, long Rows);

/// <summary>hibp log verify: one line for each thing that is not right.</summary>
internal sealed record JournalVerifiedDocument(int Loads, long Rows, long Accounts, IReadOnlyList<string> Faults);

/// <summary>hibp log repair: removed loads that were gone through, what went, and one line for each load that was left alone.</summary>
internal sealed record JournalRepairedDocument(int Loads, long Blobs, long Marks, IReadOnlyList<string> Skipped);

/// <summary>hibp log export and rewrite.</summary>
internal sealed record JournalCopiedDocument(int Loads, int Segments, long Rows, long Bytes);

/// <summary>hibp purge.</summary>
internal sealed record PurgeDocument(IReadOnlyList<PurgedLoad> Loads);

/// <summary>A load whose rows were deleted.</summary>
internal sealed record PurgedLoad(long Load, string Breach, long Rows);

/// <summary>hibp subscribers import.</summary>
internal sealed record ImportDocument(int Read, int Added, int Suppressed, IReadOnlyList<InvalidLine> Invalid);

/// <summary>A line of a file that was not imported, by its number.</summary>
internal sealed record InvalidLine(long Line, string Reason);

/// <summary>hibp subscribers add.</summary>
internal sealed record SubscribersAddedDocument(int Added, int There);

/// <summary>hibp subscribers remove and forget: subscriptions and notifications that went.</summary>
internal sealed record SubscribersRemovedDocument(int Subscriptions, int Notifications);

/// <summary>hibp subscribers export to a file.</summary>
internal sealed record ExportDocument(string File, int Subscriptions);

/// <summary>hibp subscribers list, and export without a file.</summary>
internal sealed record SubscribersDocument(IReadOnlyList<SubscriberLine> Subscribers)
{
    /// <summary>Number of suppressed addresses, by reason.</summary>
    public required IReadOnlyDictionary<string, int> Suppressed { get; init; }
}

/// <summary>A subscription; a null domain is the address itself.</summary>
internal sealed record SubscriberLine(string Email, string? Domain);

/// <summary>hibp drop without --wait.</summary>
internal sealed record DropDocument(string Breach, string Blob, string ETag, long Bytes);

/// <summary>hibp sample.</summary>
internal sealed record SampleDocument(string File, long Accounts, int Seed, long Bytes);

/// <summary>hibp doctor.</summary>
internal sealed record DoctorDocument(bool Ok, IReadOnlyList<DoctorLine> Checks);

/// <summary>One check; state is ok, missing (works without it) or broken.</summary>
internal sealed record DoctorLine(string Check, string State, string Found, string? Advice);

/// <summary>hibp ranges fill and status: off, filling or on.</summary>
internal sealed record RangesDocument(string Ranges)
{
    /// <summary>Accounts that this run has written (fill only).</summary>
    public long? Accounts { get; init; }

    /// <summary>Duration of this run (fill only).</summary>
    public double? Seconds { get; init; }
}

/// <summary>hibp layouts; ranges as in hibp ranges status.</summary>
internal sealed record LayoutDocument(
    string Name, int Number, string AccountsTable, string RangesTable, IReadOnlyList<int> StorageAccounts,
    IReadOnlyDictionary<string, int> SpreadDomains, string Ranges, bool Read, long MissingRows)
{
    public static LayoutDocument Of(LayoutStatus status)
    {
        var (layout, isRead, missing) = status;
        return new LayoutDocument(
            layout.Name, layout.Id, layout.Facts.AccountsTable, layout.Facts.RangesTable, layout.Facts.StorageAccounts,
            layout.Facts.SpreadDomains, layout.Ranges.ToString().ToLowerInvariant(), isRead, missing);
    }
}

/// <summary>hibp switch: the layout that is read, and the one that was.</summary>
internal sealed record SwitchDocument(string Layout, string Before);

/// <summary>hibp layout drop.</summary>
internal sealed record LayoutDropDocument(string Dropped);

/// <summary>hibp rebuild: what this run has written; the layout lacks nothing.</summary>
internal sealed record RebuildDocument(
    string Layout, int Loads, long Rows, long Accounts, long Transactions, int RemovedMeanwhile, double Seconds)
{
    public static RebuildDocument Of(RebuildResult result, TimeSpan took) => new(
        result.Layout.Name, result.Loads, result.Rows, result.Accounts, result.Transactions, result.Removed, took.TotalSeconds);
}

/// <summary>hibp database upgrade.</summary>
internal sealed record UpgradeDocument(string Database, int From, int To);

/// <summary>
/// hibp database restored: the ids it goes on behind, how many files were started again, subscriptions in the database, rows that
/// the layout lacks that is read, what came back from the account log (null: it is off), suppressions that the backup lacked, and
/// breaches that are hidden as readers were not shown them before.
/// </summary>
internal sealed record RestoredDocument(
    string Database, long Load, int Mark, int Loads, long Subscriptions, long Missing, JournalRecovered? Log,
    int Suppressed, IReadOnlyList<string> Hidden);

/// <summary>hibp backup: where it is, and what its note says.</summary>
internal sealed record BackupDocument(
    string File, string Note, long Bytes, string Sha256, DateTimeOffset TakenAt, Guid Store, int Schema, StoreIds Highest);

/// <summary>
/// hibp restore: the backup, where the database is that was there (null: there was none), and how the restored one goes on (null: it was
/// only looked at).
/// </summary>
internal sealed record RestoreDocument(string Backup, DateTimeOffset TakenAt, string? Kept, RestoredDocument? Restored);

/// <summary>hibp breach set.</summary>
internal sealed record BreachSetDocument(string Breach, string Title, IReadOnlyList<string> Flags, bool Public);

/// <summary>hibp keys create: the key, shown this once.</summary>
internal sealed record KeyDocument(string Key);

/// <summary>hibp keys list.</summary>
internal sealed record KeyListDocument(IReadOnlyList<KeyListItem> Keys);

/// <summary>A key: the access log identifies it by its hash.</summary>
internal sealed record KeyListItem(
    string Name, string Hash, int Rpm, IReadOnlyList<string> Scopes, IReadOnlyList<string> Domains, DateTimeOffset CreatedAt);

/// <summary>hibp keys revoke.</summary>
internal sealed record KeyRevokedDocument(string Revoked);

/// <summary>hibp clients add and rotate: key and secret, where there are new ones, shown this once.</summary>
internal sealed record NewClientDocument(string Client, int Number, string? Key, string? Secret);

/// <summary>hibp clients list.</summary>
internal sealed record ClientListDocument(IReadOnlyList<ClientListItem> Clients);

/// <summary>A client, and how many prefixes it watches.</summary>
internal sealed record ClientListItem(
    string Name, int Number, string Url, bool Sensitive, int Cap, bool Paused, int Prefixes, DateTimeOffset CreatedAt);

/// <summary>hibp clients pause and resume.</summary>
internal sealed record ClientStateDocument(string Client, bool Paused);

/// <summary>hibp clients remove.</summary>
internal sealed record ClientRemovedDocument(string Removed);

/// <summary>hibp callbacks list.</summary>
internal sealed record CallbackListDocument(IReadOnlyList<CallbackItem> Callbacks);

/// <summary>The callbacks of a client for a breach; without a name: the client was removed.</summary>
internal sealed record CallbackItem(
    string? Client, int Number, string Breach, long Answered, long Open, long Dead, long Dropped, DateTimeOffset? OldestOpen,
    string? Error);

/// <summary>hibp callbacks retry and drop: how many calls.</summary>
internal sealed record CallbackChangeDocument(long Calls);

/// <summary>hibp mail preview.</summary>
internal sealed record MailDocument(string Breach, string From, string Subject, string Text, string Html);

/// <summary>hibp mail refused.</summary>
internal sealed record RefusedDocument(string Breach, IReadOnlyList<RefusedMail> Refused);

/// <summary>A permanently refused mail; a null domain is the subscriber's own address.</summary>
internal sealed record RefusedMail(long Load, string Email, string? Domain, string? Reason);

/// <summary>hibp mail test: where it was handed on to.</summary>
internal sealed record MailTestDocument(string Sender);

/// <summary>The callbacks of a load.</summary>
internal sealed record CallsDocument(bool Known, long Calls, long Answered, long Open, long Dead, string? Error);

/// <summary>hibp passwords import.</summary>
internal sealed record PasswordsImportedDocument(
    string Release, IReadOnlyList<PasswordsPartDocument> Parts, long Lines, long LeftOut, bool Served, double Seconds);

/// <summary>One mode of a release in one backend.</summary>
internal sealed record PasswordsPartDocument(string Backend, string Mode, long Hashes, string Sum, DateTimeOffset CompletedAt);

/// <summary>hibp passwords repack.</summary>
internal sealed record PasswordsRepackedDocument(
    string From, string Release, IReadOnlyList<PasswordsPartDocument> Parts, double Seconds);

/// <summary>hibp passwords export.</summary>
internal sealed record PasswordsExportedDocument(string Mode, long Hashes);

/// <summary>In the status of passwords, what is served.</summary>
internal sealed record PasswordsServedDocument(string Backend, string Release);

/// <summary>hibp passwords switch: what is served now.</summary>
internal sealed record PasswordsSwitchedDocument(string Backend, string Release, IReadOnlyList<PasswordsOutcomeDocument> Replicas);

/// <summary>The result of a replica: done, lacking or failed.</summary>
internal sealed record PasswordsOutcomeDocument(string Replica, string Result, string? Reason);

/// <summary>hibp passwords replicate.</summary>
internal sealed record PasswordsReplicatedDocument(string Release, IReadOnlyList<PasswordsOutcomeDocument> Replicas);

/// <summary>hibp passwords status.</summary>
internal sealed record PasswordsStatusDocument(
    PasswordsServedDocument? Served, PasswordsServedDocument? Before, IReadOnlyList<PasswordsReleaseDocument> Releases,
    IReadOnlyList<PasswordsReplicaDocument> Replicas, IReadOnlyList<PasswordsInProgressDocument> Imports,
    IReadOnlyList<PasswordsRefusedDocument> Refused, int AppendsWaiting, int AppendsUnconfirmed);

/// <summary>A dropped file that is being imported.</summary>
internal sealed record PasswordsInProgressDocument(string File, string Release, string Mode, string State, int Done, int Parts);

/// <summary>A dropped file that is not imported, and the reason.</summary>
internal sealed record PasswordsRefusedDocument(string File, string Reason, DateTimeOffset At);

/// <summary>A replica in the status; with a reason if it can't be read.</summary>
internal sealed record PasswordsReplicaDocument(
    string Replica, PasswordsServedDocument? Served, IReadOnlyList<string> Releases, string? Reason);

/// <summary>A release; "not served because": it is newer than the served one, and has too few hashes to be served automatically.</summary>
internal sealed record PasswordsReleaseDocument(
    string Name, DateTimeOffset CreatedAt, IReadOnlyList<PasswordsPartDocument> Parts, int AppendedRanges, string? RepackedAs,
    string? NotServedBecause);

/// <summary>hibp passwords delete.</summary>
internal sealed record PasswordsDeletedDocument(string Deleted, IReadOnlyList<PasswordsOutcomeDocument> Replicas);

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ErrorDocument))]
[JsonSerializable(typeof(StatusDocument))]
[JsonSerializable(typeof(CatalogueDocument))]
[JsonSerializable(typeof(LoadDocument))]
[JsonSerializable(typeof(DemoDocument))]
[JsonSerializable(typeof(LookupDocument))]
[JsonSerializable(typeof(LookupListDocument))]
[JsonSerializable(typeof(BreachesDocument))]
[JsonSerializable(typeof(SliceListDocument))]
[JsonSerializable(typeof(RequeueDocument))]
[JsonSerializable(typeof(PoisonDocument))]
[JsonSerializable(typeof(QueueChangeDocument))]
[JsonSerializable(typeof(ResumeDocument))]
[JsonSerializable(typeof(NotifyDocument))]
[JsonSerializable(typeof(PreviewDocument))]
[JsonSerializable(typeof(BreachChangeDocument))]
[JsonSerializable(typeof(PurgeDocument))]
[JsonSerializable(typeof(JournalListDocument))]
[JsonSerializable(typeof(JournalWrittenDocument))]
[JsonSerializable(typeof(JournalVerifiedDocument))]
[JsonSerializable(typeof(JournalRepairedDocument))]
[JsonSerializable(typeof(JournalCopiedDocument))]
[JsonSerializable(typeof(JournalFigures))]
[JsonSerializable(typeof(ImportDocument))]
[JsonSerializable(typeof(SubscribersDocument))]
[JsonSerializable(typeof(SubscribersAddedDocument))]
[JsonSerializable(typeof(SubscribersRemovedDocument))]
[JsonSerializable(typeof(ExportDocument))]
[JsonSerializable(typeof(DropDocument))]
[JsonSerializable(typeof(SampleDocument))]
[JsonSerializable(typeof(DoctorDocument))]
[JsonSerializable(typeof(RangesDocument))]
[JsonSerializable(typeof(LayoutDocument[]))]
[JsonSerializable(typeof(SwitchDocument))]
[JsonSerializable(typeof(LayoutDropDocument))]
[JsonSerializable(typeof(RebuildDocument))]
[JsonSerializable(typeof(UpgradeDocument))]
[JsonSerializable(typeof(RestoredDocument))]
[JsonSerializable(typeof(BackupDocument))]
[JsonSerializable(typeof(RestoreDocument))]
[JsonSerializable(typeof(BreachSetDocument))]
[JsonSerializable(typeof(KeyDocument))]
[JsonSerializable(typeof(KeyListDocument))]
[JsonSerializable(typeof(NewClientDocument))]
[JsonSerializable(typeof(ClientListDocument))]
[JsonSerializable(typeof(ClientStateDocument))]
[JsonSerializable(typeof(ClientRemovedDocument))]
[JsonSerializable(typeof(CallbackListDocument))]
[JsonSerializable(typeof(CallbackChangeDocument))]
[JsonSerializable(typeof(MailDocument))]
[JsonSerializable(typeof(RefusedDocument))]
[JsonSerializable(typeof(MailTestDocument))]
[JsonSerializable(typeof(KeyRevokedDocument))]
[JsonSerializable(typeof(UsageReport))]
[JsonSerializable(typeof(PasswordsImportedDocument))]
[JsonSerializable(typeof(PasswordsRepackedDocument))]
[JsonSerializable(typeof(PasswordsExportedDocument))]
[JsonSerializable(typeof(PasswordsServedDocument))]
[JsonSerializable(typeof(PasswordsSwitchedDocument))]
[JsonSerializable(typeof(PasswordsReplicatedDocument))]
[JsonSerializable(typeof(PasswordsStatusDocument))]
[JsonSerializable(typeof(PasswordsDeletedDocument))]
internal sealed partial class Documents : JsonSerializerContext
{
    /// <summary>Returns the document of a status.</summary>
    public static StatusDocument Of(StatusPicture picture, DateTimeOffset now, double mailsPerSecond) => new(
        [.. picture.Loads.Select(load => Of(load) with
        {
            Figures = Output.FiguresDocument.Of(picture.FiguresOf(load, now, mailsPerSecond, moves: true), load),
        })],
        [.. picture.Queues.Select(queue => queue with
        {
            Role = MessageRoutes.FindRole(queue.Name),
            HasHost = MessageRoutes.FindRole(queue.Name) is { } role ? HostsView.HasRole(picture.Hosts, role, now) : null,
        })],
        [.. picture.Hosts.Select(host => new HostDocument(
            host.Host, host.Machine, host.ProcessId, host.Roles.Split(", "), host.Version, host.StartedAt, host.SeenAt, host.IsMissed(now),
            [.. host.Troubles.Select(trouble => new TroubleDocument(
                trouble.Load > 0 ? trouble.Load : null, trouble.What, trouble.Reason, trouble.NextTry))]))],
        [.. picture.Held.Select(work => new HeldDocument(work.Load, work.Breach, work.Slice, work.Owner, work.Until))],
        [.. picture.Waiting.Select(blob => new WaitingDocument(blob.Version.Name, blob.LastModified))])
    {
        Removals = [.. picture.Removals.Select(removal => Output.RemovalDocument.Of(
            removal, HostsView.RemoverOf(removal.Breach, picture.Hosts, now) is not null))],
    };

    /// <summary>Returns the document of a load.</summary>
    public static LoadDocument Of(Breaches.Load load) => new(
        load.Id, load.Breach, load.Blob.Name, load.State.ToString()
        .ToLowerInvariant(), load.Accounts, load.Checkpoint.Rejected.Total, load.Batches,
        new SlicesDocument(load.Slices.Pending, load.Slices.Queued, load.Slices.Done, load.Slices.Failed), load.Notifications.Total,
        load.Error, load.StartedAt, load.FinishedAt, load.HeldBecause,
        load.PublishedAt is not null)
    {
        Removing = load.Removing,
        Logged = load.PublishedAt is null ? null : load.IsLogged,
        LogError = load.LogError,
        Calls = load.Calls is { } calls
            ? new CallsDocument(calls.IsLookedThrough, calls.Calls, calls.Answered, calls.Open, calls.Dead, calls.Error) : null,
    };
}
