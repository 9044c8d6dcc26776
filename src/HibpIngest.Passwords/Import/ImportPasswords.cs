using System.Text.Json.Serialization;
using HibpIngest.Passwords.Import.Drops;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// Imports files into a release: sorts them (<see cref="HashImport"/>), writes them into each back end, reads everything back, and only
/// then lists it in the release. An interrupted import resumes with the same request: the work folder records the groups that were written.
/// </summary>
public sealed class ImportPasswords(PasswordStores stores, PasswordReleases releases, TimeProvider time)
{
    private const string TargetFile = "target.json";
    private const int BucketsOfGroup = SortedRanges.Buckets / PasswordNames.Groups;

    /// <exception cref="BadInputException">An input is malformed; nothing is listed.</exception>
    /// <exception cref="NotPossibleException">The release already has one of these modes in one of these back ends.</exception>
    /// <exception cref="StoreFullException">The work folder's disk is full.</exception>
    public async Task<ImportedPasswords> RunAsync(
        ImportRequest request, IProgress<ImportProgress>? reading, IProgress<ImportStep>? writing, CancellationToken cancellationToken)
    {
        try
        {
            return await ImportAsync(request, reading, writing, cancellationToken);
        }
        catch (IOException e) when (DiskFull.Is(e))
        {
            throw new StoreFullException(
                $"the disk of '{request.Options.WorkFolder}' is full: make room, or name another folder, and import again", e);
        }
    }

    private async Task<ImportedPasswords> ImportAsync(
        ImportRequest request, IProgress<ImportProgress>? reading, IProgress<ImportStep>? writing, CancellationToken cancellationToken)
    {
        using var import = HashImport.Open(request.Options, request.Inputs);
        if (import.Start is not (ImportStart.Continues or ImportStart.AllRead))
            Forget(request);
        await stores.Blobs.CreateAsync(cancellationToken);
        // Some or all parts of the interrupted import may be listed already.
        var interrupted = await FindInterruptedAsync(request, cancellationToken);
        if (interrupted is null && await FindListedAsync(request, import.Source, cancellationToken) is { } done)
        {
            // The earlier run was killed after listing: only cleaning up and, perhaps, switching is left.
            var nothingRead = new ImportSummary(ImportStart.Listed, 0, 0, 0);
            await EndAsync(request, import, done.Name, cancellationToken);
            return new ImportedPasswords(done.Name, [.. done.Parts.Where(part => IsRequested(request, part))], nothingRead);
        }
        if (request.Release is not null && interrupted is null)
            await CheckAsync(request, PasswordNames.CheckRelease(request.Release), cancellationToken);
        var summary = await import.ReadAsync(reading, cancellationToken);
        if (summary.Rows == 0)
            throw new BadInputException(
                "there is no hash in what was to be imported, and a release of nothing would say that no password is known");

        import.FreeMemory();
        var release = interrupted ?? await BeginAsync(request, cancellationToken);
        var listed = interrupted is null ? null : await releases.FindAsync(release.Name, cancellationToken);
        var rows = request.Options.Modes.Sum(mode => import.Ranges(mode).Rows(0, SortedRanges.Buckets));
        var progress = new StepProgress(writing, rows, rows * request.Into.Count);
        var (parts, existing) = (new List<ReleasePart>(), new List<ReleasePart>());
        foreach (var mode in request.Options.Modes)
        {
            existing.AddRange((listed?.Parts ?? []).Where(part => part.Mode == mode && request.Into.Contains(part.Backend)));
            IRangeTarget[] targets = [.. request.Into.Where(backend => !existing.Any(part => (part.Backend, part.Mode) == (backend, mode)))
                .Select(backend => Open(backend, release, mode, request.Options.WorkFolder))];
            if (targets.Length == 0)
                continue;
            foreach (var target in targets)
                await target.BeginAsync(interrupted is null, cancellationToken);
            var groups = await WriteAsync(import.Ranges(mode), mode, targets, request.Options.WorkFolder, progress, cancellationToken);
            import.FreeMemory();
            foreach (var target in targets)
                parts.Add(await WrittenPart.CompleteAsync(
                    stores, target, release, mode, groups, import.Source, progress, time, cancellationToken));
        }
        await AddToReleaseAsync(request, release, parts, cancellationToken);
        await EndAsync(request, import, release.Name, cancellationToken);
        return new ImportedPasswords(release.Name, [.. existing, .. parts], summary);
    }

    private async Task AddToReleaseAsync(
        ImportRequest request, ReleaseKey release, List<ReleasePart> parts, CancellationToken cancellationToken)
    {
        try
        {
            foreach (var part in parts)
            {
                if (!await releases.AddAsync(release, part, cancellationToken))
                {
                    throw new NotPossibleException(
                        $"release {release.Name} was deleted while this was imported into it: run the same command again");
                }
            }
        }
        catch (NotPossibleException)
        {
            // The same command must begin another release instead of failing again. The sorted rows stay.
            Forget(request);
            throw;
        }
    }

    private static async Task EndAsync(ImportRequest request, HashImport import, string release, CancellationToken cancellationToken)
    {
        if (request.WhenListed is not null)
            await request.WhenListed(release, cancellationToken);
        Forget(request);
        import.Delete();
    }

    /// <returns>The release that lists all parts of this import; null if there is none, or the import can't be identified.</returns>
    private async Task<PasswordRelease?> FindListedAsync(ImportRequest request, string? source, CancellationToken cancellationToken)
    {
        if (source is null)
            return null;
        var known = request.Release is null ? await releases.ListAsync(cancellationToken)
            : await releases.FindAsync(PasswordNames.CheckRelease(request.Release), cancellationToken) is { } one ? [one] : [];
        return known.Where(release => release.Parts.Count(part => part.Source == source && IsRequested(request, part))
            == request.Into.Count * request.Options.Modes.Count).MaxBy(release => release.CreatedAt);
    }

    private static bool IsRequested(ImportRequest request, ReleasePart part) =>
        request.Into.Contains(part.Backend) && request.Options.Modes.Contains(part.Mode);

    private IRangeTarget Open(PasswordBackend backend, ReleaseKey release, HashMode mode, string folder) => backend switch
    {
        PasswordBackend.Pack => new PackTarget(stores.Blobs, release, mode, folder),
        PasswordBackend.Blob => new BlobTarget(stores.Blobs, release, mode),
        _ => new TableTarget(stores, release, mode),
    };

    /// <returns>The release of an interrupted import; null if there was none, it was another import's, or it was deleted since.</returns>
    private async Task<ReleaseKey?> FindInterruptedAsync(ImportRequest request, CancellationToken cancellationToken)
    {
        var file = TargetOf(request);
        if (!File.Exists(file))
            return null;
        var target = JsonSerializer.Deserialize(await File.ReadAllTextAsync(file, cancellationToken), ImportJson.Default.ImportTarget)!;
        var key = new ReleaseKey(target.Release, target.Id);
        if ((request.Release is null || request.Release == target.Release) && request.Into.SequenceEqual(target.Into)
            && await releases.ExistsAsync(key, cancellationToken))
            return key;
        Forget(request);
        return null;
    }

    private async Task<ReleaseKey> BeginAsync(ImportRequest request, CancellationToken cancellationToken)
    {
        var release = await releases.BeginAsync(
            request.Release ?? await ReleaseNaming.NextAsync(
                releases, new ImportPlans(stores.Blobs), request.Options.Modes, time.GetUtcNow(), cancellationToken),
            cancellationToken);
        await WriteFileAsync(
            TargetOf(request),
            JsonSerializer.SerializeToUtf8Bytes(new ImportTarget(release.Name, request.Into, release.Id), ImportJson.Default.ImportTarget),
            cancellationToken);
        return release;
    }

    private async Task CheckAsync(ImportRequest request, string release, CancellationToken cancellationToken)
    {
        var existing = await releases.FindAsync(release, cancellationToken);
        if (existing?.Parts.FirstOrDefault(part => IsRequested(request, part)) is { } part)
        {
            throw new NotPossibleException($"release {release} already contains {part.Mode.Name()} in {part.Backend.Name()}, and "
                + "releases are immutable; choose another name with --release");
        }
        await releases.RequireCompleteAsync(existing, request.Options.Modes, cancellationToken);
    }

    private static async Task<GroupRecord[]> WriteAsync(
        SortedRanges ranges, HashMode mode, IRangeTarget[] targets, string folder, StepProgress progress,
        CancellationToken cancellationToken)
    {
        var groups = new GroupRecord[PasswordNames.Groups];
        // A group is sorted and compressed on one thread while another group is uploaded.
        var options = new ParallelOptions { MaxDegreeOfParallelism = Environment.ProcessorCount, CancellationToken = cancellationToken };
        await Parallel.ForEachAsync(Enumerable.Range(0, PasswordNames.Groups), options, async (group, token) =>
        {
            var file = Path.Combine(folder, $"{mode.Name()}-{group:x2}.json");
            var rows = ranges.Rows(group * BucketsOfGroup, BucketsOfGroup);
            // An empty group is made faster than its record is read.
            var known = rows > 0 ? await FindAsync(file, token) : null;
            groups[group] = known ?? await WriteGroupAsync(ranges, mode, targets, group, token);
            if (known is null && rows > 0)
            {
                await WriteFileAsync(file, JsonSerializer.SerializeToUtf8Bytes(groups[group], ImportJson.Default.GroupRecord), token);
            }
            progress.Add(ImportStepKind.Write, rows);
        });
        return groups;
    }

    private static async Task<GroupRecord> WriteGroupAsync(
        SortedRanges ranges, HashMode mode, IRangeTarget[] targets, int group, CancellationToken cancellationToken)
    {
        var total = new GroupRows(mode);
        var writers = targets.Select(target => target.BeginGroup(group)).ToArray();
        try
        {
            await ranges.ReadAsync(group * BucketsOfGroup, BucketsOfGroup, async (prefix, rows, token) =>
            {
                var gzip = total.Add(prefix, rows.Span);
                foreach (var writer in writers)
                    await writer.AddAsync(prefix, rows, gzip, token);
            }, cancellationToken);
            PackRecord? pack = null;
            foreach (var writer in writers)
                pack = await writer.CompleteAsync(total.Total.Rows, cancellationToken) ?? pack;
            return new GroupRecord(total.Total.Rows, total.Total.Sum, total.Present, pack);
        }
        finally
        {
            foreach (var writer in writers)
                await writer.DisposeAsync();
        }
    }

    private static void Forget(ImportRequest request)
    {
        foreach (var mode in HashModes.All)
        {
            for (var group = 0; group < PasswordNames.Groups; group++)
                File.Delete(Path.Combine(request.Options.WorkFolder, $"{mode.Name()}-{group:x2}.json"));
        }
        File.Delete(TargetOf(request));
    }

    private static string TargetOf(ImportRequest request) => Path.Combine(request.Options.WorkFolder, TargetFile);

    private static async Task<GroupRecord?> FindAsync(string file, CancellationToken cancellationToken) => File.Exists(file)
        ? JsonSerializer.Deserialize(await File.ReadAllBytesAsync(file, cancellationToken), ImportJson.Default.GroupRecord) : null;

    private static async Task WriteFileAsync(string file, byte[] content, CancellationToken cancellationToken)
    {
        await File.WriteAllBytesAsync(file + ".tmp", content, cancellationToken);
        File.Move(file + ".tmp", file, overwrite: true);
    }
}

internal sealed record ImportTarget(string Release, IReadOnlyList<PasswordBackend> Into, string? Id = null);

[JsonSourceGenerationOptions(UseStringEnumConverter = true)]
[JsonSerializable(typeof(ImportTarget))]
[JsonSerializable(typeof(GroupRecord))]
[JsonSerializable(typeof(SpoolState))]
internal sealed partial class ImportJson : JsonSerializerContext;
