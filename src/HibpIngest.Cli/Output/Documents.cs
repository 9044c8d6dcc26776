using System.ComponentModel;
using System.Text.Json.Serialization.Metadata;
using HibpIngest.Hosting.Messages;
using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Output;

// The JSON documents of --json. Their shapes are a contract: properties are added, never renamed.

[WrittenBy("status")]
internal sealed record StatusDocument(
    IReadOnlyList<LoadDocument> Loads, IReadOnlyList<QueueDocument> Queues, IReadOnlyList<HostDocument> Hosts,
    IReadOnlyList<HeldDocument> Held, IReadOnlyList<WaitingDocument> Waiting)
{
    [Description("Removals of breaches that are not complete.")]
    public IReadOnlyList<RemovalDocument> Removals { get; init; } = [];
}

[Description("A removal that isn't complete: the remaining loads, and the completed part of their accounts, 0 to 1. Running: whether a "
    + "live process works on it; if not, 'hibp breach remove' resumes it; null: not known.")]
internal sealed record RemovalDocument(string Breach, IReadOnlyList<long> Loads, double Part, bool? Running)
{
    public static RemovalDocument Of(OpenRemoval removal, bool? running) =>
        new(removal.Breach, [.. removal.Loads.Select(load => load.Value)], Math.Round(removal.Part, 4), running);
}

[Description("A host. Missed: its last heartbeat is overdue.")]
internal sealed record HostDocument(
    string Host, string Machine, int ProcessId, IReadOnlyList<string> Roles, string Version, DateTimeOffset StartedAt,
    DateTimeOffset SeenAt, bool Missed, IReadOnlyList<TroubleDocument> Troubles);

[Description("An unavailable store that a host waits for.")]
internal sealed record TroubleDocument(long? Load, string What, string Reason, DateTimeOffset NextTry);

[Description("Work leased by a host: a slice of a load, or its ingest or matching.")]
internal sealed record HeldDocument(long Load, string Breach, int? Slice, string Owner, DateTimeOffset Until);

[Description("A dropped file that no host has picked up.")]
internal sealed record WaitingDocument(string Blob, DateTimeOffset Since);

[WrittenBy("catalogue publish")]
internal sealed record CatalogueDocument(long Version, int Breaches, int Written, int Deleted);

[WrittenBy("drop", "breach assign")]
[Description("A load; drop writes it with --wait.")]
internal sealed record LoadDocument(
    long Load, string Breach, string Blob, string State, long Accounts, long Rejected, int Batches, SlicesDocument Slices,
    int Notifications, string? Error,
    DateTimeOffset StartedAt, DateTimeOffset? FinishedAt, string? HeldBecause, bool Published)
{
    [Description("Whether the journal contains the load completely. Null if the load is unpublished.")]
    public bool? Logged { get; init; }

    [Description("The reason why it is not in the journal.")]
    public string? LogError { get; init; }

    [Description("The callbacks. Null if there are none.")]
    public CallsDocument? Calls { get; init; }

    [Description("Whether it is being removed, or its removal was interrupted.")]
    public bool Removing { get; init; }

    [Description("Progress and rates, in status only.")]
    public FiguresDocument? Figures { get; init; }
}

[Description("Progress and rates of a load. Searchable: the part of its archive whose accounts are in the tables, 0 to 1. Left: null if "
    + "there is no estimate, as for a load that has ended or that no host works on.")]
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

[Description("Slices by state.")]
internal sealed record SlicesDocument(int Pending, int Queued, int Done, int Failed);

[Description("A queue, and the number of messages in its poison queue.")]
internal sealed record QueueDocument(string Name, int Messages, int Poison)
{
    [Description("The role of the hosts that receive its messages.")]
    public string? Role { get; init; }

    [Description("Whether a live host has that role.")]
    public bool? HasHost { get; init; }
}

[WrittenBy("demo")]
[Description("Seconds count from the load's start: ingest to the last batch, upsert to the last slice (both run concurrently); notify from "
    + "there to the last mail.")]
internal sealed record DemoDocument(
    string Breach, long Load, long Accounts, long Rejected, int Batches, int Slices, long Entities, int Notifications, DemoSeconds Seconds)
{
    [Description("Breaches that the demo's own API returns for the load's first account.")]
    public IReadOnlyList<string> Found { get; init; } = [];

    [Description("The subscribers of --subscribe.")]
    public IReadOnlyList<DemoSubscriber> Subscribed { get; init; } = [];
}

[Description("An address of --subscribe, and whether it is in the breach and has been notified.")]
internal sealed record DemoSubscriber(string Email, bool Told);

[Description("Durations, in seconds; total is from the drop to the end.")]
internal sealed record DemoSeconds(double Ingest, double Upsert, double Notify, double Total);

[WrittenBy("lookup")]
internal sealed record LookupDocument(string Account, IReadOnlyList<PublicBreach> Breaches);

[WrittenBy("lookup")]
[Description("The result of: hibp lookup -")]
internal sealed record LookupListDocument(IReadOnlyList<LookupDocument> Accounts, IReadOnlyList<LookupRefusal> Refused);

[Description("A line of the input that is not an address, counted from 1.")]
internal sealed record LookupRefusal(int Line, string Reason);

internal sealed record ErrorDocument(ErrorLine Error);

internal sealed record ErrorLine(string Message, int ExitCode);

[WrittenBy("breach list")]
internal sealed record BreachesDocument(IReadOnlyList<BreachDocument> Breaches);

[Description("If accountsAtMost is true, accounts are the sum of several loads, which may overlap.")]
internal sealed record BreachDocument(
    string Name, string Title, string? Domain, DateOnly? BreachDate, string? Description, IReadOnlyList<string> DataClasses,
    IReadOnlyList<string> Flags,
    bool Public, bool Hidden, DateTimeOffset? PublishedAt, int Loads, long Accounts, bool AccountsAtMost)
{
    [Description("Its removal. Null if none is in progress.")]
    public RemovalDocument? Removal { get; init; }
}

[WrittenBy("load slices")]
internal sealed record SliceListDocument(string Breach, IReadOnlyList<SliceDocument> Slices);

internal sealed record SliceDocument(
    long Load, int Slice, long First, long Last, int Count, string State, int Attempts, string? Error, DateTimeOffset? QueuedAt,
    DateTimeOffset? DoneAt);

[WrittenBy("load requeue")]
internal sealed record RequeueDocument(string Breach, int Requeued);

[WrittenBy("poison list")]
internal sealed record PoisonDocument(IReadOnlyList<PoisonQueueDocument> Queues);

[Description("A poison queue with its first messages.")]
internal sealed record PoisonQueueDocument(string Queue, int Messages, IReadOnlyList<PoisonMessageDocument> Head);

internal sealed record PoisonMessageDocument(string Id, string Body);

[WrittenBy("poison requeue", "poison purge")]
internal sealed record QueueChangeDocument(string Queue, int Messages);

[WrittenBy("load resume")]
internal sealed record ResumeDocument(long Load, string Breach, string State);

[WrittenBy("mail release", "mail hold")]
[Description("The number of notifications released or held.")]
internal sealed record NotifyDocument(string Breach, int Notifications);

[WrittenBy("mail release")]
[Description("The result with --dry-run.")]
internal sealed record PreviewDocument(string Breach, IReadOnlyList<PreviewLine> Notifications)
{
    [Description("The callbacks that would be sent.")]
    public IReadOnlyList<PreviewCallsLine> Calls { get; init; } = [];
}

[Description("A client that would be called: the estimated number of calls, and their estimated duration at its cap.")]
internal sealed record PreviewCallsLine(string Client, long Calls, bool Exact, int Cap, double Seconds);

[Description("A recipient of mails. A null domain is the subscriber's own address.")]
internal sealed record PreviewLine(string Email, string? Domain, long Accounts);

[WrittenBy("breach hide", "breach unhide", "breach remove")]
internal sealed record BreachChangeDocument(string Breach, bool Hidden, bool Removed, long? Entities)
{
    [Description("The removed loads (remove only).")]
    public IReadOnlyList<long>? Loads { get; init; }

    [Description("The loads dropped during the removal; if there are none, the breach is removed (remove only).")]
    public IReadOnlyList<long>? LoadsLeft { get; init; }
}

[WrittenBy("journal list")]
internal sealed record JournalListDocument(IReadOnlyList<JournalListedDocument> Loads);

[Description("A load in the journal; breach and rows are null if no document contains them.")]
internal sealed record JournalListedDocument(
    string Folder, long Load, string? Breach, string State, long? Rows, int Segments, long Bytes, bool Hidden, DateTimeOffset? PublishedAt)
{
    public static JournalListedDocument Of(JournaledLoad load) => new(
        load.Folder, load.Document?.Load ?? load.Removal?.Load ?? JournalNames.LoadOf(load.Folder).Value, load.Document?.Breach,
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

[WrittenBy("journal write")]
[Description("Loads that were logged, and loads that were purged before they could be.")]
internal sealed record JournalWrittenDocument(IReadOnlyList<JournalWrittenLoad> Loads, IReadOnlyList<JournalWrittenLoad> Purged);

internal sealed record JournalWrittenLoad(long Load, string Breach, long Rows);

[WrittenBy("journal verify")]
[Description("Each fault is one line.")]
internal sealed record JournalVerifiedDocument(int Loads, long Rows, long Accounts, IReadOnlyList<string> Faults);

[WrittenBy("journal repair")]
[Description("What was deleted, and one line for each load that was skipped.")]
internal sealed record JournalRepairedDocument(int Loads, long Blobs, long Marks, IReadOnlyList<string> Skipped);

[WrittenBy("journal export", "journal rewrite")]
internal sealed record JournalCopiedDocument(int Loads, int Segments, long Rows, long Bytes);

[WrittenBy("database purge")]
internal sealed record PurgeDocument(IReadOnlyList<PurgedLoad> Loads);

[Description("A load whose rows were deleted.")]
internal sealed record PurgedLoad(long Load, string Breach, long Rows);

[WrittenBy("subscribers import")]
internal sealed record ImportDocument(int Read, int Added, int Suppressed, IReadOnlyList<InvalidLine> Invalid);

[Description("A line that was not imported, by its number.")]
internal sealed record InvalidLine(long Line, string Reason);

[WrittenBy("subscribers add")]
[Description("Added: new subscriptions. There: subscriptions that existed already.")]
internal sealed record SubscribersAddedDocument(int Added, int There);

[WrittenBy("subscribers remove", "subscribers forget")]
[Description("The number of deleted subscriptions and notifications.")]
internal sealed record SubscribersRemovedDocument(int Subscriptions, int Notifications);

[WrittenBy("subscribers export")]
[Description("The result with a file.")]
internal sealed record ExportDocument(string File, int Subscriptions);

[WrittenBy("subscribers list", "subscribers export")]
internal sealed record SubscribersDocument(IReadOnlyList<SubscriberLine> Subscribers)
{
    [Description("Number of suppressed addresses, by reason.")]
    public required IReadOnlyDictionary<string, int> Suppressed { get; init; }
}

[Description("A subscription. A null domain is the subscriber's own address.")]
internal sealed record SubscriberLine(string Email, string? Domain);

[WrittenBy("domains list")]
internal sealed record DomainsDocument(IReadOnlyList<DomainLine> Domains);

[Description("Who sees the accounts of a domain: a subscriber or the owner of an API key. The proof is dns, file, the mailbox that got a "
    + "mail, or operator. A missing proof ends a week after it was first missed.")]
internal sealed record DomainLine(
    string Domain, string? Email, string? Key, string Proof, DateTimeOffset? CheckedAt, DateTimeOffset? MissingSince);

[WrittenBy("domains approve")]
internal sealed record DomainApprovedDocument(string Domain);

[WrittenBy("optout")]
[Description("The number of addresses, and from whom they are hidden: public, all, or an empty text if they are shown again.")]
internal sealed record OptOutDocument(int Addresses, string HiddenFrom);

[WrittenBy("subscribers list")]
[Description("The result with --suppressed.")]
internal sealed record SuppressionsDocument(IReadOnlyList<SuppressedLine> Suppressions);

[Description("A suppressed address or subscription: unsubscribed, bounced, complaint or forgotten.")]
internal sealed record SuppressedLine(string Reason, DateTimeOffset Since, string Hash);

[WrittenBy("drop")]
[Description("The result without --wait.")]
internal sealed record DropDocument(string Breach, string Blob, string ETag, long Bytes);

[WrittenBy("sample")]
internal sealed record SampleDocument(string File, long Accounts, int Seed, long Bytes);

[WrittenBy("doctor")]
internal sealed record DoctorDocument(bool Ok, IReadOnlyList<DoctorLine> Checks);

[Description("State is ok, missing (works without it), broken or skipped.")]
internal sealed record DoctorLine(string Check, string State, string Found, string? Advice);

[WrittenBy("ranges fill", "ranges status")]
[Description("Ranges are off, filling or on.")]
internal sealed record RangesDocument(string Ranges)
{
    [Description("Accounts that this run has written (fill only).")]
    public long? Accounts { get; init; }

    [Description("Duration of this run (fill only).")]
    public double? Seconds { get; init; }
}

[Description("Ranges are off, filling or on.")]
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

[WrittenBy("layout switch")]
[Description("The layout that is read now, and the one that was read before.")]
internal sealed record SwitchDocument(string Layout, string Before);

[WrittenBy("layout drop")]
internal sealed record LayoutDropDocument(string Dropped);

[WrittenBy("layout rebuild")]
[Description("What this run has written; the layout is complete.")]
internal sealed record RebuildDocument(
    string Layout, int Loads, long Rows, long Accounts, long Transactions, int RemovedMeanwhile, double Seconds)
{
    public static RebuildDocument Of(RebuildResult result, TimeSpan took) => new(
        result.Layout.Name, result.Loads, result.Rows, result.Accounts, result.Transactions, result.Removed, took.TotalSeconds);
}

[WrittenBy("database upgrade")]
internal sealed record UpgradeDocument(string Database, int From, int To);

[WrittenBy("database restored")]
[Description("Load and mark: the ids after which new ones are assigned. Loads: files that are loaded again. Missing: rows that the layout "
    + "that is read lacks. Log: what came back from the journal; null if it is off. Suppressed: suppressions that the backup lacked. "
    + "Hidden: breaches hidden because readers didn't see them before.")]
internal sealed record RestoredDocument(
    string Database, long Load, int Mark, int Loads, long Subscriptions, long Missing, JournalRecovered? Log,
    int Suppressed, IReadOnlyList<string> Hidden);

[WrittenBy("database backup")]
[Description("The backup file, and the content of its note.")]
internal sealed record BackupDocument(
    string File, string Note, long Bytes, string Sha256, DateTimeOffset TakenAt, Guid Store, int Schema, StoreIds Highest);

[WrittenBy("database restore")]
[Description("The backup, the path of the replaced database (null: there was none), and the result of bringing the restored one up to date "
    + "(null with --dry-run).")]
internal sealed record RestoreDocument(string Backup, DateTimeOffset TakenAt, string? Kept, RestoredDocument? Restored);

[WrittenBy("breach set")]
internal sealed record BreachSetDocument(string Breach, string Title, IReadOnlyList<string> Flags, bool Public);

[WrittenBy("keys create")]
[Description("The key, which is shown only once.")]
internal sealed record KeyDocument(string Key);

[WrittenBy("keys generate")]
internal sealed record GeneratedKeysDocument(string LinkKeys, string TicketKey, string CommandKey, string CommandPublicKey);

[WrittenBy("keys list")]
internal sealed record KeyListDocument(IReadOnlyList<KeyListItem> Keys);

[Description("The access log identifies a key by its hash.")]
internal sealed record KeyListItem(
    string Name, string Hash, int Rpm, IReadOnlyList<string> Scopes, IReadOnlyList<string> Domains, DateTimeOffset CreatedAt);

[WrittenBy("keys revoke")]
internal sealed record KeyRevokedDocument(string Revoked);

[WrittenBy("clients add", "clients rotate")]
[Description("New key and secret, which are shown only once; null if unchanged.")]
internal sealed record NewClientDocument(string Client, int Number, string? Key, string? Secret);

[WrittenBy("clients list")]
internal sealed record ClientListDocument(IReadOnlyList<ClientListItem> Clients);

[Description("Prefixes: how many the client watches.")]
internal sealed record ClientListItem(
    string Name, int Number, string Url, bool Sensitive, int Cap, bool Paused, int Prefixes, DateTimeOffset CreatedAt);

[WrittenBy("clients pause", "clients resume")]
internal sealed record ClientStateDocument(string Client, bool Paused);

[WrittenBy("clients remove")]
internal sealed record ClientRemovedDocument(string Removed);

[WrittenBy("callbacks list")]
internal sealed record CallbackListDocument(IReadOnlyList<CallbackItem> Callbacks);

[Description("The callbacks of a client for a breach. A null client was removed.")]
internal sealed record CallbackItem(
    string? Client, int Number, string Breach, long Answered, long Open, long Dead, long Dropped, DateTimeOffset? OldestOpen,
    string? Error);

[WrittenBy("callbacks retry", "callbacks drop")]
[Description("The number of callbacks.")]
internal sealed record CallbackChangeDocument(long Calls);

[WrittenBy("mail preview")]
internal sealed record MailDocument(string Breach, string From, string Subject, string Text, string Html);

[WrittenBy("mail refused")]
internal sealed record RefusedDocument(string Breach, IReadOnlyList<RefusedMail> Refused);

[Description("A permanently refused mail. A null domain is the subscriber's own address.")]
internal sealed record RefusedMail(long Load, string Email, string? Domain, string? Reason);

[WrittenBy("mail test")]
[Description("The mail server or pickup folder that accepted the mail.")]
internal sealed record MailTestDocument(string Sender);

[Description("The callbacks of a load. Known: all slices were searched, so that the number of calls is complete.")]
internal sealed record CallsDocument(bool Known, long Calls, long Answered, long Open, long Dead, string? Error);

[WrittenBy("passwords import")]
internal sealed record PasswordsImportedDocument(
    string Release, IReadOnlyList<PasswordsPartDocument> Parts, long Lines, long LeftOut, bool Served, double Seconds);

[Description("One mode of a release in one backend.")]
internal sealed record PasswordsPartDocument(string Backend, string Mode, long Hashes, string Sum, DateTimeOffset CompletedAt);

[WrittenBy("passwords repack")]
internal sealed record PasswordsRepackedDocument(
    string From, string Release, IReadOnlyList<PasswordsPartDocument> Parts, double Seconds);

[WrittenBy("passwords export")]
internal sealed record PasswordsExportedDocument(string Mode, long Hashes);

internal sealed record PasswordsServedDocument(string Backend, string Release);

[WrittenBy("passwords switch")]
[Description("What is served now.")]
internal sealed record PasswordsSwitchedDocument(string Backend, string Release, IReadOnlyList<PasswordsOutcomeDocument> Replicas);

[Description("The result of a replica: done, lacking or failed.")]
internal sealed record PasswordsOutcomeDocument(string Replica, string Result, string? Reason);

[WrittenBy("passwords replicate")]
internal sealed record PasswordsReplicatedDocument(string Release, IReadOnlyList<PasswordsOutcomeDocument> Replicas);

[WrittenBy("passwords status")]
internal sealed record PasswordsStatusDocument(
    PasswordsServedDocument? Served, PasswordsServedDocument? Before, IReadOnlyList<PasswordsReleaseDocument> Releases,
    IReadOnlyList<PasswordsReplicaDocument> Replicas, IReadOnlyList<PasswordsInProgressDocument> Imports,
    IReadOnlyList<PasswordsRefusedDocument> Refused, int AppendsWaiting, int AppendsUnconfirmed);

[Description("A dropped file that is being imported.")]
internal sealed record PasswordsInProgressDocument(string File, string Release, string Mode, string State, int Done, int Parts);

[Description("A dropped file that is not imported, and the reason.")]
internal sealed record PasswordsRefusedDocument(string File, string Reason, DateTimeOffset At);

[Description("A replica; with a reason if it can't be read.")]
internal sealed record PasswordsReplicaDocument(
    string Replica, PasswordsServedDocument? Served, IReadOnlyList<string> Releases, string? Reason);

[Description("notServedBecause: the release is newer than the served one, and has too few hashes to be served automatically.")]
internal sealed record PasswordsReleaseDocument(
    string Name, DateTimeOffset CreatedAt, IReadOnlyList<PasswordsPartDocument> Parts, int AppendedRanges, string? RepackedAs,
    string? NotServedBecause);

[WrittenBy("passwords delete")]
internal sealed record PasswordsDeletedDocument(string Deleted, IReadOnlyList<PasswordsOutcomeDocument> Replicas);

[WrittenBy("schema")]
internal sealed record SchemasDocument(IReadOnlyList<string> Commands);

/// <summary>Names the commands that write a document with --json, for 'hibp schema'. Descriptions are part of the schema.</summary>
[AttributeUsage(AttributeTargets.Class)]
internal sealed class WrittenByAttribute(params string[] commands) : Attribute
{
    public IReadOnlyList<string> Commands => commands;
}

internal static class Documents
{
    public static readonly JsonSerializerOptions Options = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        TypeInfoResolver = new DefaultJsonTypeInfoResolver(),
        WriteIndented = true,
    };

    public static StatusDocument Of(StatusSnapshot picture, DateTimeOffset now, double mailsPerSecond) => new(
        [.. picture.Loads.Select(load => Of(load) with
        {
            Figures = FiguresDocument.Of(picture.FiguresOf(load, now, mailsPerSecond, moves: true), load),
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
        [.. picture.Held.Select(work => new HeldDocument(work.Load.Value, work.Breach, work.Slice, work.Owner, work.Until))],
        [.. picture.Waiting.Select(blob => new WaitingDocument(blob.Version.Name, blob.LastModified))])
    {
        Removals = [.. picture.Removals.Select(removal => RemovalDocument.Of(
            removal, HostsView.RemoverOf(removal.Breach, picture.Hosts, now) is not null))],
    };

    public static LoadDocument Of(Breaches.Load load) => new(
        load.Id.Value, load.Breach, load.Blob.Name, load.State.ToString()
        .ToLowerInvariant(), load.Accounts, load.Checkpoint.Rejected.Total, load.Batches,
        new SlicesDocument(load.Slices.Pending, load.Slices.Queued, load.Slices.Done, load.Slices.Failed), load.Notifications.Total,
        load.Error, load.StartedAt, load.FinishedAt, load.HeldBecause,
        load.PublishedAt is not null)
    {
        Removing = load.Removing,
        Logged = load.PublishedAt is null ? null : load.IsJournaled,
        LogError = load.JournalError,
        Calls = load.Calls is { } calls
            ? new CallsDocument(calls.IsSearched, calls.Calls, calls.Answered, calls.Open, calls.Abandoned, calls.Error) : null,
    };
}
