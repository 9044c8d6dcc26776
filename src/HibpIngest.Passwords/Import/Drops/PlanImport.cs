using System.Buffers;
using HibpIngest.Archives;

namespace HibpIngest.Passwords.Import.Drops;

/// <summary>
/// Accepts a dropped file: finds where its groups begin (runs of hash prefixes, up to 256), records that as a plan and sends a message for
/// each group. The idempotency key is the file's name with its ETag. A file that is not a sorted list is refused with the reason, and stays
/// where it is.
/// </summary>
public sealed partial class PlanImport(
    IPasswordDrops drops, ImportPlans plans, PasswordReleases releases, ImportMessages messages, CompleteImport complete,
    TimeProvider time, ILogger<PlanImport> log)
{
    private const int HeadBytes = 64 << 10;

    private const string Command = "import it with 'hibp passwords import', which reads any format and order, then delete the dropped file";

    /// <summary>Plans the present version of a file that an event announced; a version that has a plan keeps it.</summary>
    public async Task RunAsync(string file, CancellationToken cancellationToken)
    {
        // If it was deleted or replaced, the present version has an event of its own.
        if (await drops.FindAsync(file, cancellationToken) is { } found)
            await RunAsync(found, cancellationToken);
    }

    /// <summary>Returns when the messages of this version are sent, or when it is refused or was replaced.</summary>
    public async Task RunAsync(DroppedPasswords file, CancellationToken cancellationToken)
    {
        try
        {
            await PlanAsync(file, cancellationToken);
        }
        catch (Exception e) when (e is BadInputException or NotPossibleException)
        {
            await complete.RefuseAsync(file, e.Message, cancellationToken);
        }
        catch (FileReplacedException)
        {
            // The new version has an event of its own, and is found by the next scan.
        }
    }

    private async Task PlanAsync(DroppedPasswords file, CancellationToken cancellationToken)
    {
        var id = ImportPlan.IdOf(file);
        if ((await plans.ListRefusedIdsAsync(cancellationToken)).Contains(id))
            return;
        var known = await plans.ListAsync(cancellationToken).Where(one => one.File == file.Name).ToListAsync(cancellationToken);
        var plan = known.FirstOrDefault(one => one.Id == id);
        foreach (var other in known.Where(one => one.Id != id))
            await complete.AbandonReplacedAsync(other, cancellationToken);
        plan ??= await MakeAsync(file, id, cancellationToken);
        if (plan.State != ImportState.Planned)
            return;
        // Takes some seconds; stopping between the two would leave the file to the sweep, minutes later.
        await messages.SendAsync(plan, plan.Groups, CancellationToken.None);
        await plans.MoveAsync(plan, now => now with { State = ImportState.Running }, [ImportState.Planned], CancellationToken.None);
    }

    private async Task<ImportPlan> MakeAsync(DroppedPasswords file, string id, CancellationToken cancellationToken)
    {
        var named = ReleaseOf(file.Name);
        var text = new DropReader(drops, file);
        var mode = await InspectAsync(text, cancellationToken);
        var offsets = await new SortedText(text).LocateAsync(cancellationToken);
        while (true)
        {
            var now = time.GetUtcNow();
            var release = named ?? await ReleaseNaming.NextAsync(releases, plans, [mode], now, cancellationToken);
            var existing = await releases.FindAsync(release, cancellationToken);
            if (existing?.PartsOf(PasswordBackend.Pack).Any(part => part.Mode == mode) == true)
            {
                throw new NotPossibleException($"'{file.Name}': release {release} already has {mode.Name()} hashes, and an import never "
                    + "replaces them: drop the file into the folder of another release, or delete it");
            }
            await releases.RequireCompleteAsync(existing, [mode], cancellationToken);
            var key = await releases.BeginAsync(release, cancellationToken);
            var plan = new ImportPlan
            {
                Version = key.Id is null ? PasswordRelease.DocumentVersion : PasswordRelease.VersionWithId,
                Id = id,
                Release = release,
                ReleaseId = key.Id,
                Mode = mode,
                IsNamed = named is not null,
                File = file.Name,
                ETag = file.ETag,
                State = ImportState.Planned,
                PlannedAt = now,
                Offsets = offsets,
            };
            if (await plans.AddAsync(plan, cancellationToken))
            {
                LogPlanned(file.Name, file.Length, release, mode.Name(), plan.Groups.Count());
                return plan;
            }
            if ((await plans.FindAsync(release, mode, cancellationToken)).Plan is not { } other)
                continue;
            if (other.Id == id)
                return other;
            if (other.State is ImportState.Done or ImportState.Ended)
            {
                await complete.TryAsync(other, cancellationToken);
            }
            else if (named is not null)
            {
                throw new NotPossibleException($"'{file.Name}': another file of {mode.Name()} hashes is being imported into release "
                    + $"{release}: drop this one into the folder of another release, or delete it");
            }
        }
    }

    private static string? ReleaseOf(string name)
    {
        if (NameText.HoldsAt(name))
        {
            throw new BadInputException(
                "the name of a dropped file contains an @ and may be an email address: rename the file and drop it again, or delete it");
        }
        if (NameText.HoldsControl(name))
        {
            throw new BadInputException(
                $"'{NameText.Escape(name)}': the name contains a control character: rename the file and drop it again, or delete it");
        }
        return name.Split('/') switch
        {
            [_] => null,
            [var folder, _] => PasswordNames.CheckRelease(folder),
            _ => throw new BadInputException($"'{name}': expected FILE or RELEASE/FILE, found more folders: drop it again, or delete it"),
        };
    }

    /// <summary>Returns the mode of the first line, and checks 64 KB, so that an obvious error isn't found by 256 messages.</summary>
    private static async Task<HashMode> InspectAsync(DropReader text, CancellationToken cancellationToken)
    {
        var head = await text.ReadAsync(0, HeadBytes, cancellationToken);
        if (GzipFile.Matches(head.Span) || head.Span.StartsWith("PK"u8))
            throw new BadInputException($"'{text.Name}': expected lines HASH:COUNT, found a compressed file: {Command}");
        var mode = ModeOf(head.Span) ?? throw new BadInputException(
            $"'{text.Name}': expected lines HASH:COUNT with 40 hex digits (SHA-1) or 32 (NTLM), found a first line of another form: "
            + Command);
        // Read in the same way as a group's piece, whichever group it belongs to.
        var (lines, rows) = (new HashLines(mode, text.Name, 0), new HashCount[HeadBytes / 32]);
        int count;
        try
        {
            (count, _) = lines.Read(head.Span, isEnd: head.Length == text.Length, rows);
        }
        catch (BadInputException)
        {
            throw new BadInputException(SortedPiece.Describe(text.Name, lines.BadAt, lines.Wrong));
        }
        for (var row = 1; row < count; row++)
        {
            if (rows[row].IsBefore(rows[row - 1]))
                throw new BadInputException($"'{text.Name}': expected sorted lines, found some that are not: {Command}");
        }
        return mode;
    }

    private static HashMode? ModeOf(ReadOnlySpan<byte> head)
    {
        var blank = "\r\n \t"u8;
        while (true)
        {
            var rest = head.TrimStart(blank);
            if (rest.StartsWith(LineEnds.ByteOrderMark))
                rest = rest[LineEnds.ByteOrderMark.Length..];
            if (rest.Length == head.Length)
                break;
            head = rest;
        }
        var digits = head.IndexOf((byte)':');
        foreach (var mode in HashModes.All.Where(mode => digits == mode.Digits()))
        {
            if (Convert.FromHexString(head[..digits], new byte[mode.Bytes()], out _, out _) == OperationStatus.Done)
                return mode;
        }
        return null;
    }

    [LoggerMessage(
        EventIds.PlanImportPlanned, LogLevel.Information,
        "'{File}': import into release {Release} planned ({Bytes} bytes, {Mode}, {Groups} groups)")]
    private partial void LogPlanned(string file, long bytes, string release, string mode, int groups);
}
