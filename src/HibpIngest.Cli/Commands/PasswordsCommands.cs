using HibpIngest.Hosting.Web;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Cli.Commands;

internal static class PasswordsCommands
{
    /// <summary>Opens Pwned Passwords for a command whose user waits for each replica's response.</summary>
    public static Task<ServiceProvider> OpenAsync(CommandSession session, CancellationToken cancellationToken) =>
        session.OpenPasswordsAsync(cancellationToken, ApiStorage.Retries);

    public static void SaySwitched(CommandSession session, ServedRelease served, IReadOnlyList<ReplicaOutcome> replicas)
    {
        foreach (var one in replicas)
        {
            session.Screen.Say(one.Result switch
            {
                ReplicaResult.Done => $"Replica {one.Replica} serves it too.",
                ReplicaResult.Lacking => $"Replica {one.Replica} lacks a part of it and keeps serving the previous release: run 'hibp "
                    + $"passwords replicate --release {served.Release}', then 'hibp passwords switch {served.Backend.Name()}'.",
                _ => $"Replica {one.Replica} was not switched: {one.Reason}",
            });
        }
    }

    /// <summary>Throws if a replica failed; called after everything else is done and shown.</summary>
    public static void RequireReplicas(IReadOnlyList<ReplicaOutcome> replicas, string undone, string command)
    {
        var failed = replicas.Where(one => one.Result == ReplicaResult.Failed).Select(one => one.Replica).ToList();
        if (failed.Count > 0)
            throw new CommandFailedException($"{undone} {string.Join(" and ", failed)}: once that is available again, '{command}' "
                + "completes it");
    }

    public static IReadOnlyList<PasswordsOutcomeDocument> Documents(IReadOnlyList<ReplicaOutcome> replicas) =>
        [.. replicas.Select(one => new PasswordsOutcomeDocument(one.Replica, one.Result.ToString().ToLowerInvariant(), one.Reason))];

    public static Option<HashMode> ModeOption() => new("--mode")
    {
        Description = "Hash algorithm of the passwords.",
        HelpName = "sha1|ntlm",
        DefaultValueFactory = _ => HashMode.Sha1,
        CustomParser = result => Parse<HashMode>(result.Tokens[0].Value, result.AddError),
    };

    public static T Parse<T>(string text, Action<string> addError)
        where T : struct, Enum
    {
        if (!EnumNames.TryParse<T>(text, out var value))
            addError($"'{text}' is none of {EnumNames.Join<T>(", ")}");
        return value;
    }

    public static PasswordsPartDocument Document(ReleasePart part) =>
        new(part.Backend.Name(), part.Mode.Name(), part.Rows, part.Sum, part.CompletedAt);
}

internal sealed class PasswordsImportCommand : HibpCommand
{
    private readonly Argument<string[]> _files = new("FILE")
    {
        Description = "Files with lines HASH:COUNT, in any order, also gzip or zip; - is standard input.",
        Arity = ArgumentArity.OneOrMore,
    };
    private readonly Option<HashMode> _mode = PasswordsCommands.ModeOption();
    private readonly Option<bool> _plain =
        new("--plain") { Description = "The lines are passwords, one each. They are hashed in both modes, and not stored." };
    private readonly Option<string?> _release = new("--release")
    {
        Description = "Name of the release. Default: the newest release if it lacks this mode; otherwise a new one, named by the date.",
        HelpName = "NAME",
    };
    private readonly Option<PasswordBackend[]> _into = new("--into")
    {
        Description = "Back ends to write, separated by commas: pack, blob, table. The first is served.",
        HelpName = "BACKENDS",
        DefaultValueFactory = _ => [PasswordBackend.Pack],
        CustomParser = result => [.. result.Tokens.SelectMany(token => token.Value.Split(','))
            .Select(name => PasswordsCommands.Parse<PasswordBackend>(name, result.AddError)).Distinct()],
    };
    private readonly Option<bool> _noSwitch = new("--no-switch") { Description = "Import only; keep serving the current release." };
    private readonly Option<int> _memory = new("--memory")
    {
        Description = "Memory for sorting, in MiB; the rest is sorted on disk.",
        HelpName = "MiB",
        DefaultValueFactory = _ => (int)(ImportOptions.DefaultMemoryBytes >> 20),
    };
    private readonly Option<DirectoryInfo?> _folder = new("--folder")
    {
        Description = "Folder for sorting on disk: 28 bytes a line, twice that with --plain. An interrupted import resumes from it. "
            + "Default: passwords-import in HIBP_HOME.",
        HelpName = "DIR",
    };

    public PasswordsImportCommand()
        : base("import", "Import password hashes as a release, and serve it once it is written and verified. If interrupted, run the same "
            + "command again: it resumes.")
    {
        Add(_files, _mode, _plain, _release, _into, _noSwitch, _memory, _folder);
        AddExamples(
            ("hibp passwords import pwnedpasswords.txt", "the file of Have I Been Pwned's downloader: SHA-1"),
            ("hibp passwords import pwnedpasswords_ntlm.txt --mode ntlm", "adds the NTLM hashes of the same release"),
            ("hibp passwords import --plain rockyou.txt.gz --no-switch",
                "a list of passwords; 'hibp passwords switch pack --release NAME' serves it"),
            ("hibp passwords import hashes.txt --into pack,blob --memory 2048", "also as single blobs, and faster"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var request = Read(session);
        await using var services = await PasswordsCommands.OpenAsync(session, cancellationToken);
        var everywhere = services.GetRequiredService<ReplicatedReleases>();
        IReadOnlyList<ReplicaOutcome>? replicas = null;
        ReleaseShortfall? shortfall = null;
        request = request with
        {
            WhenListed = async (release, token) => (shortfall, replicas) = session.Parsed.GetValue(_noSwitch) ? (null, null)
                : await SwitchAsync(session, everywhere, release, request.Into[0], token),
        };
        var import = services.GetRequiredService<ImportPasswords>();
        var began = session.Time.GetTimestamp();
        var imported = await StatusText.ShowAsync(session.Screen, session.Time, "reading", show =>
        {
            var view = new PasswordsView(show, session.Time);
            return import.RunAsync(request, view, view, cancellationToken);
        });
        Show(session, imported, replicas is not null, session.Time.GetElapsedTime(began));
        if (shortfall is not null)
        {
            throw new CommandFailedException($"release {imported.Release} is imported and not served: {shortfall}. To serve it anyway: "
                + $"'hibp passwords switch {request.Into[0].Name()} --release {imported.Release}'");
        }
        PasswordsCommands.RequireReplicas(
            replicas ?? [], "what was imported is served, but not by",
            $"hibp passwords switch {request.Into[0].Name()} --release {imported.Release}");
    }

    private ImportRequest Read(CommandSession session)
    {
        var parsed = session.Parsed;
        var files = parsed.GetRequiredValue(_files);
        if (parsed.GetValue(_plain) && IsGiven(parsed.CommandResult, _mode))
            throw new WrongUsageException("--plain hashes passwords in both modes: leave --mode out");
        if (files.Contains(ImportInput.StandardInputName) && files.Length > 1)
            throw new WrongUsageException("standard input (-) can't be combined with files: import them by another command");
        return new ImportRequest
        {
            Inputs = [.. files.Select(file => file == ImportInput.StandardInputName
                ? ImportInput.StandardInput(session.Environment.OpenInput()) : ImportInput.File(file))],
            Options = new ImportOptions
            {
                WorkFolder = parsed.GetValue(_folder)?.FullName ?? session.Settings.FolderInHome("passwords-import"),
                MemoryBytes = (long)parsed.GetValue(_memory) << 20,
                Mode = parsed.GetValue(_mode),
                Plain = parsed.GetValue(_plain),
            },
            Into = parsed.GetRequiredValue(_into),
            Release = parsed.GetValue(_release),
        };
    }

    /// <summary>Serves the release, unless that would drop a served mode or leave far fewer rows; replicas is then null.</summary>
    private static async Task<(ReleaseShortfall? Shortfall, IReadOnlyList<ReplicaOutcome>? Replicas)> SwitchAsync(
        CommandSession session, ReplicatedReleases everywhere, string release, PasswordBackend backend, CancellationToken cancellationToken)
    {
        var (shortfalls, replicas) = await everywhere.SwitchImportedAsync(backend, release, cancellationToken);
        if (shortfalls.FirstOrDefault(one => one.Rows > 0) is { } shortfall)
            return (shortfall, null);
        if (shortfalls.Count > 0)
        {
            var mode = shortfalls[0].Mode.Name();
            session.Screen.Say($"Not served yet: the served release has {mode}, and release {release} has not. Import that too (--mode "
                + $"{mode} --release {release}), or serve it without: hibp passwords switch {backend.Name()} --release {release}");
            return (null, null);
        }
        PasswordsCommands.SaySwitched(session, new ServedRelease(backend, release), replicas);
        return (null, replicas);
    }

    private static void Show(CommandSession session, ImportedPasswords imported, bool isServed, TimeSpan took)
    {
        if (session.Screen.TryShowJson(() => new PasswordsImportedDocument(
            imported.Release, [.. imported.Parts.Select(PasswordsCommands.Document)], imported.Read.Lines, imported.Read.ZeroRows,
            isServed, took.TotalSeconds)))
            return;
        if (imported.Read.Start is ImportStart.Continues or ImportStart.AllRead)
            session.Screen.Say("Resumed an interrupted import of the same files.");
        if (imported.Read.Start is ImportStart.OtherInput or ImportStart.Damaged)
            session.Screen.Say("Started over: the interrupted import before was of other files, or could not be read.");
        var isListed = imported.Read.Start == ImportStart.Listed;
        if (isListed)
            session.Screen.Say("These files were imported before, and are unchanged: nothing is read again.");
        foreach (var part in imported.Parts)
        {
            session.Screen.Show($"Release {imported.Release} has {TableFormat.Number(part.Rows)} {part.Mode.Name()} hashes in "
                + part.Backend.Name() + (isListed ? "." : $", of {TableFormat.Number(imported.Read.Lines)} lines."));
        }
        session.Screen.Show($"{(isServed ? "It is served" : "It is not served")}; that took {TableFormat.Duration(took)}.");
    }
}

internal sealed class PasswordsStatusCommand : HibpCommand
{
    public PasswordsStatusCommand()
        : base("status", "Show the releases, which one is served, what the replicas serve, and the state of dropped files.") =>
        AddExamples(("hibp passwords status", "all releases with their back ends, and what switching back would serve"));

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await PasswordsCommands.OpenAsync(session, cancellationToken);
        var releases = services.GetRequiredService<PasswordReleases>();
        var current = await releases.GetCurrentAsync(cancellationToken);
        var known = await releases.ListAsync(cancellationToken);
        var replicas = await services.GetRequiredService<ReplicatedReleases>().ListAsync(cancellationToken);
        var report = services.GetRequiredService<AppendReport>();
        var (waiting, unconfirmed) = await report.CountAsync(cancellationToken);
        var appended = new Dictionary<string, AppendedRanges>();
        foreach (var release in known)
            appended[release.Name] = await report.ReadAsync(release.Key, cancellationToken);
        var plans = services.GetRequiredService<ImportPlans>();
        var (imports, refused) = (await plans.ListInProgressAsync(cancellationToken), await plans.ListRefusedAsync(cancellationToken));
        if (session.Screen.TryShowJson(() => new PasswordsStatusDocument(
            Document(current?.Served), Document(current?.Before),
            [.. known.Select(one => new PasswordsReleaseDocument(
                one.Name, one.CreatedAt, [.. one.Parts.Select(PasswordsCommands.Document)], appended[one.Name].Ranges,
                appended[one.Name].RepackedAs, Shortfall(one, known, current)?.ToString()))],
            [.. replicas.Select(one => new PasswordsReplicaDocument(
                one.Replica, Document(one.Current?.Served), [.. one.Releases.Select(release => release.Name)], one.Reason))],
            [.. imports.Select(one => new PasswordsInProgressDocument(
                one.Plan.File, one.Plan.Release, one.Plan.Mode.Name(), StateOf(one), one.Done, one.Plan.Groups.Count()))],
            [.. refused.Select(one => new PasswordsRefusedDocument(one.File, one.Reason, one.At))],
            waiting, unconfirmed)))
            return;
        session.Screen.Show(Table(known, current), ifEmpty: "There are no passwords; 'hibp passwords import FILE' imports them.");
        foreach (var release in known)
        {
            if (Shortfall(release, known, current) is { } shortfall)
            {
                session.Screen.Show($"Release {release.Name} is newer than the served one, and is not served automatically: {shortfall}. "
                    + $"'hibp passwords switch {release.Parts[0].Backend.Name()} --release {release.Name}' serves it.");
            }
        }
        foreach (var (release, what) in appended.Where(one => one.Value.Ranges > 0))
            session.Screen.Show(Describe(release, what));
        if (waiting + unconfirmed > 0)
        {
            session.Screen.Show($"{TableFormat.Number(waiting)} transactions wait to be appended, {TableFormat.Number(unconfirmed)} to be "
                + "confirmed.");
        }
        foreach (var replica in replicas.Where(_ => known.Count > 0))
            session.Screen.Show($"Replica {replica.Replica} {Describe(replica, current)}.");
        foreach (var one in imports)
        {
            session.Screen.Show($"'{one.Plan.File}' is being imported into release {one.Plan.Release} ({one.Plan.Mode.Name()}, "
                + $"{StateOf(one)}): {one.Done} of {one.Plan.Groups.Count()} parts are done.");
        }
        foreach (var one in refused)
            session.Screen.Show($"Not imported, since {TableFormat.Moment(one.At)}: {one.Reason}");
    }

    /// <summary>Finds the reason why a release newer than the served one can't be served automatically: too few rows of a mode.</summary>
    private static ReleaseShortfall? Shortfall(PasswordRelease release, IReadOnlyList<PasswordRelease> known, CurrentRelease? current)
    {
        var served = known.FirstOrDefault(one => one.Name == current?.Served.Release);
        return served is null || release.CreatedAt <= served.CreatedAt ? null
            : ReleaseShortfall.List(served.PartsOf(current!.Served.Backend), release.PartsOf(release.Parts[0].Backend)).FirstOrDefault();
    }

    private static string StateOf(ImportInProgress import) => import.Plan.State.ToString().ToLowerInvariant();

    private static FittingTable Table(IReadOnlyList<PasswordRelease> known, CurrentRelease? current)
    {
        var table = TableFormat.Create("release", "since", "mode", "back end", "hashes", "").AlignRight(4);
        foreach (var (release, part) in known.SelectMany(one => one.Parts.Select(part => (one, part))))
        {
            var place = new ServedRelease(part.Backend, release.Name);
            table.AddRow(
                release.Name, TableFormat.Moment(release.CreatedAt), part.Mode.Name(), part.Backend.Name(), TableFormat.Number(part.Rows),
                place == current?.Served ? "served" : place == current?.Before ? "before" : "");
        }
        return table;
    }

    private static string Describe(string release, AppendedRanges appended) =>
        $"{TableFormat.Number(appended.Ranges)} ranges of release {release} were appended to"
        + (appended.RepackedAs is null ? "." : $"; it is being repacked as {appended.RepackedAs}, and appends wait until that has ended: "
            + "if it was killed, 'hibp passwords repack' resumes it.");

    private static string Describe(ReplicaState replica, CurrentRelease? current) =>
        replica.Reason is not null ? $"can't be read: {replica.Reason}"
        : (replica.Current?.Served is not { } served ? "serves none yet"
            : $"serves release {served.Release} from {served.Backend.Name()}")
        + (replica.Current?.Served == current?.Served ? "" : ", not what the primary serves")
        + (replica.Releases.Count == 0 ? "; it has none" : $"; it has {string.Join(", ", replica.Releases.Select(one => one.Name))}");

    private static PasswordsServedDocument? Document(ServedRelease? served) =>
        served is null ? null : new(served.Backend.Name(), served.Release);
}

internal sealed class PasswordsSwitchCommand : HibpCommand
{
    private readonly Argument<PasswordBackend?> _backend = new("BACKEND")
    {
        HelpName = "blob|pack|table",
        Description = "pack, blob or table.",
        Arity = ArgumentArity.ZeroOrOne,
        CustomParser = result => PasswordsCommands.Parse<PasswordBackend>(result.Tokens[0].Value, result.AddError),
    };
    private readonly Option<string?> _release =
        new("--release") { Description = "Name of the release. Default: the one that is served.", HelpName = "NAME" };
    private readonly Option<bool> _back = new("--back") { Description = "Serve the previous release again." };

    public PasswordsSwitchCommand()
        : base("switch", "Serve a release from a back end. Servers follow within seconds; caches are purged if HIBP_PURGE_URL is set.")
    {
        Add(_backend, _release, _back);
        RequireOneOf(_backend, _back);
        Validators.Add(result =>
        {
            if (IsGiven(result, _back) && IsGiven(result, _release))
                result.AddError("--back serves the previous release: leave --release out");
        });
        AddExamples(
            ("hibp passwords switch blob", "the same release, from single blobs"),
            ("hibp passwords switch pack --release 20261122", "another release"),
            ("hibp passwords switch --back", "the previous release, at once"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await PasswordsCommands.OpenAsync(session, cancellationToken);
        var everywhere = services.GetRequiredService<ReplicatedReleases>();
        var (served, replicas) = session.Parsed.GetValue(_back)
            ? await everywhere.SwitchBackAsync(cancellationToken)
            : await everywhere.SwitchAsync(session.Parsed.GetValue(_backend)!.Value, session.Parsed.GetValue(_release), cancellationToken);
        if (!session.Screen.TryShowJson(
            () => new PasswordsSwitchedDocument(served.Backend.Name(), served.Release, PasswordsCommands.Documents(replicas))))
        {
            session.Screen.Show($"Release {served.Release} is served from {served.Backend.Name()}; servers follow within 10 seconds.");
            PasswordsCommands.SaySwitched(session, served, replicas);
        }
        PasswordsCommands.RequireReplicas(
            replicas, "it is served, but not by", $"hibp passwords switch {served.Backend.Name()} --release {served.Release}");
    }
}

internal sealed class PasswordsExportCommand : HibpCommand
{
    private readonly Argument<string> _file = new("FILE") { Description = "Target file; - is standard output." };
    private readonly Option<HashMode> _mode = PasswordsCommands.ModeOption();
    private readonly Option<string?> _release =
        new("--release") { Description = "Name of the release. Default: the one that is served.", HelpName = "NAME" };

    public PasswordsExportCommand()
        : base("export", "Write a release as one file: lines HASH:COUNT, in order.")
    {
        Add(_file, _mode, _release);
        AddExamples(
            ("hibp passwords export pwned.txt", "for offline checks, as with: keepassxc-cli analyze --hibp pwned.txt"),
            ("hibp passwords export - --mode ntlm | gzip > ntlm.gz", "through a pipe"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await PasswordsCommands.OpenAsync(session, cancellationToken);
        var export = services.GetRequiredService<ExportPasswords>();
        var (file, mode) = (session.Parsed.GetRequiredValue(_file), session.Parsed.GetValue(_mode));
        if (file == "-")
        {
            if (session.Screen.Json)
                throw new WrongUsageException("--json writes the result to standard output: name a file to write to");
            await using var output = session.Environment.OpenOutput();
            await RunAsync(session, export, mode, output, cancellationToken);
            return;
        }
        long hashes;
        try
        {
            using var part = new PartFile(new FileInfo(file));
            hashes = await RunAsync(session, export, mode, part.Stream, cancellationToken);
            part.Complete();
        }
        catch (Exception e) when (e is UnauthorizedAccessException or IOException)
        {
            throw new BadInputException($"'{file}' can't be written: {e.Message}");
        }
        session.Screen.ShowResult(new PasswordsExportedDocument(mode.Name(), hashes),
            $"{file} has {TableFormat.Number(hashes)} {mode.Name()} hashes.");
    }

    private Task<long> RunAsync(
        CommandSession session, ExportPasswords export, HashMode mode, Stream output, CancellationToken cancellationToken) =>
        StatusText.ShowAsync(session.Screen, session.Time, "writing", show => export.RunAsync(
            session.Parsed.GetValue(_release), mode, output, new PasswordsView(show, session.Time), cancellationToken));
}

internal sealed class PasswordsDeleteCommand : HibpCommand
{
    private readonly Argument<string> _release = new("RELEASE") { Description = "Name of the release." };
    private readonly Confirmation _confirmation = new();

    public PasswordsDeleteCommand()
        : base("delete", "Delete an unserved release from all back ends and replicas, or the remains of an interrupted import.")
    {
        Add(_release, _confirmation.Yes);
        AddExamples(("hibp passwords delete 20261122", "asks first"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        _confirmation.RequireAnswerable(session.Parsed, "passwords delete");
        var release = PasswordNames.CheckRelease(session.Parsed.GetRequiredValue(_release));
        await using var services = await PasswordsCommands.OpenAsync(session, cancellationToken);
        await _confirmation.AskAsync(session, $"Release {release} will be deleted.", release, cancellationToken);
        var replicas = await services.GetRequiredService<ReplicatedReleases>().DeleteAsync(release, cancellationToken);
        if (!session.Screen.TryShowJson(() => new PasswordsDeletedDocument(release, PasswordsCommands.Documents(replicas))))
        {
            session.Screen.Show($"Release {release} is deleted.");
            foreach (var one in replicas.Where(one => one.Result == ReplicaResult.Failed))
                session.Screen.Say($"Replica {one.Replica} may still have it: {one.Reason}");
        }
        PasswordsCommands.RequireReplicas(replicas, "it was not deleted from", $"hibp passwords delete {release}");
    }
}
