using System.Text.Json.Nodes;
using HibpIngest.Archives;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Cli.Commands;

internal sealed class DropCommand : HibpCommand
{
    /// <summary>A blob scan begins within 2 seconds and a batch takes less; a minute also covers a throttling store.</summary>
    private static readonly TimeSpan StallTimeout = TimeSpan.FromMinutes(1);

    private static readonly TimeSpan NotTakenTimeout = TimeSpan.FromSeconds(20);

    private readonly Argument<FileInfo> _file = new("FILE")
    {
        Description = $"A file whose name ends in {string.Join(", ", BreachFiles.Endings)}, or in .json, which is uploaded as .json.gz. "
            + "NAME.zip and NAME.2.csv are loaded into breach NAME."
    };
    private readonly Option<string?> _breach =
        new("--breach") { Description = "Name of the breach; the file is uploaded as NAME with its own extension.", HelpName = "NAME" };
    private readonly DescriptionOptions _described = new();
    private readonly Option<string?> _notify = new("--notify")
    {
        Description = "send: send mails once all accounts are loaded. hold: wait for 'hibp mail release'.",
        HelpName = "send|hold"
    };
    private readonly Option<string?> _password = CommonOptions.Password();
    private readonly Option<bool> _passwordFromInput = CommonOptions.PasswordFromInput();
    private readonly Option<bool> _again =
        new("--again") { Description = "Upload the file even if the container already has the same content." };
    private readonly Option<bool> _wait =
        new("--wait") { Description = "Wait for the end of the load. The pipeline must be running: hibp run." };

    public DropCommand()
        : base("drop", "Upload a breach to be loaded. If interrupted, run the same command again: it resumes. The pipeline starts once the "
            + "upload is complete.")
    {
        _notify.AcceptOnlyFromAmong("send", "hold");
        Add([_file.AcceptExistingOnly(), _breach, .. _described.All, _notify, _password, _passwordFromInput, _again, _wait]);
        AddExamples(
            ("hibp drop Adobe.zip --wait", "loads it, and waits for its end; an Adobe.json next to it describes the breach"),
            ("hibp drop dump.zip --breach Adobe --title Adobe --domain adobe.com --date 2013-10-04 --data-class \"Email addresses\" "
                + "--data-class Passwords --verified", "with a description"),
            ("hibp drop Adobe.2.zip --notify hold", "adds accounts to the same breach; its mails wait for 'hibp mail release Adobe'"),
            ("hibp drop dump.sql.gz --breach Adobe", "any supported format; a .json file is compressed on upload: Adobe.json.gz"),
            ("hibp drop Adobe.zip --password-stdin < password.txt", "an encrypted archive; requires HIBP_SECRET_KEY here and where the "
                + "pipeline runs"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var file = session.Parsed.GetRequiredValue(_file);
        var drop = Prepare(session.Parsed, file);
        WarnOfUnknown(session.Screen, drop);
        var password = await GetPasswordAsync(session, _password, _passwordFromInput, cancellationToken);
        if (password is not null)
            ArchivePasswords.CheckTakesOne(drop.Blob);
        var wait = session.Parsed.GetValue(_wait);
        await using var services = wait || password is not null
            ? await session.OpenAsync(cancellationToken) : await session.OpenToDropAsync(cancellationToken);
        var blobs = services.GetRequiredService<IBreachBlobs>();
        await blobs.CreateAsync(cancellationToken);
        if (!session.Parsed.GetValue(_again))
        {
            await RefuseSameAsync(
                blobs, session.NamesDatabase ? services.GetRequiredService<IBreachDatabase>() : null, file, drop, cancellationToken);
        }
        // Stored before the upload, so that the password exists when the pipeline sees the blob.
        if (password is not null)
            await services.GetRequiredService<ArchivePasswords>()
                .KeepAsync(ArchivePasswords.Coming(drop.Blob), password, cancellationToken);

        var version = await UploadAsync(blobs, session.Time, session.Screen, file, drop, cancellationToken);
        if (password is not null)
            await services.GetRequiredService<ArchivePasswords>().SettleAsync(version, password, cancellationToken);
        if (!wait)
        {
            session.Screen.ShowResult(new DropDocument(drop.Breach, version.Name, version.ETag, file.Length),
                $"{version.Name} is uploaded ({TableFormat.Bytes(file.Length)}), to be loaded as {drop.Breach}; 'hibp status {drop.Breach} "
                + "--watch' shows its progress.");
            return;
        }
        var follower = new LoadFollower(
            services.GetRequiredService<IBreachDatabase>(), session.Screen, session.Time,
            session.Settings.Get<MailOptions>().MailsPerSecond)
        {
            NotTaken = (NotTakenTimeout, () => NotTakenAsync(
                services.GetRequiredService<IStoreRegister>(), session.Time.GetUtcNow(), cancellationToken)),
            Stalled = (
                StallTimeout, "nothing has moved for a minute; is 'hibp run' running, with the same storage and database? (still waiting)"),
        };
        var load = await follower.FollowAsync(version, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(Documents.Of(load));
        if (load.State == LoadState.Failed)
            throw new CommandFailedException($"load {load.Id} of {load.Breach} failed: {load.Error}");
        if (!session.Screen.Json)
        {
            session.Screen.Show($"Load {load.Id} of {load.Breach} is {(load.State == LoadState.Held ? "in" : "done")}: "
                + $"{TableFormat.Number(load.Accounts)} accounts, {TableFormat.Number(load.Notifications.Total)} mails"
                + (load.State == LoadState.Held ? $", which wait for: hibp mail release {load.Breach}" : "."));
        }
    }

    private static async Task<string> NotTakenAsync(IHeartbeats signs, DateTimeOffset now, CancellationToken cancellationToken)
    {
        var hosts = (await signs.ListHeartbeatsAsync(cancellationToken)).Where(sign => !sign.IsMissed(now)).ToList();
        return $"no host has picked up the file for {NotTakenTimeout.TotalSeconds:0} seconds: " + (
            hosts.Count == 0 ? "no host is running; start one with 'hibp run', with the same storage and database (still waiting)"
            : !hosts.Exists(sign => sign.HasRole(HostsView.Ingest))
                ? "no running host ingests; start one with 'hibp run --roles ingest' (still waiting)"
            : "those that ingest are busy with another load, or can't reach the container; see: hibp status (still waiting)");
    }

    public sealed record Drop(string Blob, string Breach, (string Blob, byte[] Content)? Metadata)
    {
        /// <summary>True if the file is JSON data, which is compressed on upload: a .json blob would be metadata.</summary>
        public required bool Compresses { get; init; }

        public Stream Open(FileInfo file, IProgress<long>? progress)
        {
            var content = new FileStream(
                file.FullName, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0,
                FileOptions.Asynchronous | FileOptions.SequentialScan);
            return Compresses ? new CompressedFile(content, progress) : content;
        }
    }

    /// <exception cref="BadInputException">Its name yields no breach, its content doesn't match its extension, or the metadata can't be
    /// read.</exception>
    public static Drop Prepare(FileInfo file)
    {
        var blob = BlobOf(file, name: null);
        var compresses = IsJson(file);
        var breach = BreachName.FromBlob(blob);
        CheckHead(file);
        foreach (var name in BreachName.MetadataBlobs(blob))
        {
            var sidecar = new FileInfo(Path.Combine(file.DirectoryName!, name));
            // A JSON file that is dropped is data, not its own metadata.
            if (!sidecar.Exists || (compresses && sidecar.FullName == file.FullName))
                continue;
            if (sidecar.Length > BreachMetadata.MaxBytes)
                throw new BadInputException($"{sidecar.Name} is {TableFormat.Bytes(sidecar.Length)} long; a breach's metadata has at most "
                    + $"{TableFormat.Bytes(BreachMetadata.MaxBytes)}");
            var content = File.ReadAllBytes(sidecar.FullName);
            BreachMetadata.Parse(content); // reports errors before the upload
            return new Drop(blob, breach, (name, content)) { Compresses = compresses };
        }
        return new Drop(blob, breach, null) { Compresses = compresses };
    }

    public static void WarnOfUnknown(Screen screen, Drop drop)
    {
        if (drop.Metadata is not { } metadata)
            return;
        foreach (var (property, nearest) in BreachMetadata.FindUnknown(metadata.Content))
        {
            // A name with an @ may be an email address.
            var shown = NameText.HoldsAt(property) ? "a name with an @" : $"'{TerminalText.OneLine(property)}'";
            screen.Say($"warning: {metadata.Blob}: {shown} is not a property of breach metadata"
                + (nearest is null ? "; docs/catalogue.md lists the properties" : $": did you mean '{nearest}'?"));
        }
    }

    public static Drop Titled(Drop drop, string title)
    {
        var document = drop.Metadata is { } metadata ? JsonNode.Parse(metadata.Content)!.AsObject() : [];
        foreach (var name in document.Select(property => property.Key).Where(key => key.Equals("Title", StringComparison.OrdinalIgnoreCase))
            .ToList())
            document.Remove(name);
        document["Title"] = title;
        return drop with
        {
            Metadata = (drop.Metadata?.Blob ?? BreachName.MetadataBlobs(drop.Blob)[0], Encoding.UTF8.GetBytes(document.ToJsonString())),
        };
    }

    public static async Task<BlobVersion> UploadAsync(
        IBreachBlobs blobs, TimeProvider time, Screen screen, FileInfo file, Drop drop, CancellationToken cancellationToken)
    {
        await blobs.CreateAsync(cancellationToken);
        if (drop.Metadata is { } metadata)
            await blobs.WriteSmallAsync(metadata.Blob, metadata.Content, cancellationToken);
        return await Transfer.ShowAsync(screen, $"uploading {drop.Blob}", file.Length, time, async progress =>
        {
            await using var content = drop.Open(file, progress);
            return await blobs.UploadAsync(drop.Blob, content, drop.Compresses ? null : progress, cancellationToken);
        });
    }

    /// <summary>Refuses a file whose content is already in the container, under any name.</summary>
    private static async Task RefuseSameAsync(
        IBreachBlobs blobs, IBreachDatabase? database, FileInfo file, Drop drop, CancellationToken cancellationToken)
    {
        // The length alone excludes most files; the compressed length of JSON is not known in advance.
        var likely = await blobs.ListDropsAsync(cancellationToken)
            .Where(blob => blob.Sha256 is not null && (drop.Compresses || blob.Length == file.Length)).ToListAsync(cancellationToken);
        if (likely.Count == 0)
            return;
        await using var content = drop.Open(file, progress: null);
        var sha256 = Convert.ToHexStringLower(await SHA256.HashDataAsync(content, cancellationToken));
        if (likely.Where(blob => blob.Sha256 == sha256).MaxBy(blob => blob.LastModified) is not { } same)
            return;
        var load = database is not null && await StoreSetup.HasSchemaAsync(database, cancellationToken)
            ? await database.FindLoadAsync(same.Version, cancellationToken) : null;
        throw new CommandFailedException(
            $"the same content was already dropped as {same.Version.Name} on "
            + TableFormat.Date(DateOnly.FromDateTime(same.LastModified.UtcDateTime))
            + (load is null ? "" : $" (load {load.Id}, {load.State.ToString().ToLowerInvariant()})")
            + (load is { State: LoadState.Failed } ? $"; 'hibp load resume {load.Id}' resumes it" : "")
            + "; to load it again, add --again");
    }

    private Drop Prepare(ParseResult parsed, FileInfo file)
    {
        var name = DescriptionOptions.Trim(parsed.GetValue(_breach));
        if (name is null && !_described.IsGiven(parsed) && parsed.GetResult(_notify) is not { Implicit: false })
            return Prepare(file);
        if (name is not null)
            BreachName.Check(name);
        var blob = BlobOf(file, name);
        var breach = name ?? BreachName.FromBlob(blob);
        CheckHead(file);
        var document = _described.Read(parsed);
        if (name is not null)
            document["Name"] = name;
        if (parsed.GetValue(_notify) is { } notify)
            document["Notify"] = notify;
        return new Drop(blob, breach, (BreachName.MetadataBlobs(blob)[0], JsonSerializer.SerializeToUtf8Bytes(document)))
        {
            Compresses = IsJson(file),
        };
    }

    private static bool IsJson(FileInfo file) => file.Name.EndsWith(BreachFiles.Json, StringComparison.OrdinalIgnoreCase);

    private static string BlobOf(FileInfo file, string? name)
    {
        var extension = IsJson(file) ? BreachFiles.JsonData : BreachFiles.ExtensionOf(file.Name);
        return name is not null && extension is not null ? name + extension
            : IsJson(file) ? file.Name[..^BreachFiles.Json.Length] + extension : file.Name;
    }

    /// <summary>JSON needs no check: it is read like any other text.</summary>
    private static void CheckHead(FileInfo file)
    {
        if (IsJson(file))
            return;
        using var content = file.OpenRead();
        Span<byte> head = stackalloc byte[BreachFile.HeadBytes];
        BreachFile.CheckHead(head[..content.ReadAtLeast(head, head.Length, throwOnEndOfStream: false)], file.Name);
    }
}
