using System.IO.Hashing;
using System.Runtime.CompilerServices;
using System.Text.Json.Serialization.Metadata;

namespace HibpIngest.Passwords.Import.Drops;

/// <summary>The records of imports of dropped files: plans, what each has done, and refused files.</summary>
public sealed class ImportPlans(IPasswordBlobs blobs)
{
    private const string RecordEnding = ".json";

    public async Task<IReadOnlyList<ImportInProgress>> ListInProgressAsync(CancellationToken cancellationToken) =>
        await ListAsync(cancellationToken)
            .Select(async (ImportPlan plan, CancellationToken token) =>
                new ImportInProgress(plan, (await ListRecordsAsync(plan, token)).Done.Count))
            .ToListAsync(cancellationToken);

    public async Task<IReadOnlyList<RefusedFile>> ListRefusedAsync(CancellationToken cancellationToken)
    {
        var found = new List<RefusedFile>();
        foreach (var id in await ListRefusedIdsAsync(cancellationToken))
        {
            if (await blobs.ReadAsync(PasswordNames.Refused(id), null, cancellationToken) is { } blob)
                found.Add(Parse(blob, ImportPlanJson.Default.RefusedFile));
        }
        return found;
    }

    internal async IAsyncEnumerable<ImportPlan> ListAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var releases = blobs.ListFoldersAsync(PasswordNames.AllImports, cancellationToken);
        foreach (var release in await ReleaseReader.ListAsync(releases, cancellationToken))
        {
            foreach (var mode in HashModes.All)
            {
                if ((await FindAsync(release, mode, cancellationToken)).Plan is { } plan)
                    yield return plan;
            }
        }
    }

    internal async Task<(ImportPlan? Plan, string? ETag)> FindAsync(string release, HashMode mode, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.PlanOfImport(release, mode), null, cancellationToken);
        return blob is null ? (null, null) : (Parse(blob, ImportPlanJson.Default.ImportPlan), blob.ETag);
    }

    /// <returns>False if that release and mode have a plan already, which may be this one.</returns>
    internal async Task<bool> AddAsync(ImportPlan plan, CancellationToken cancellationToken) =>
        await WriteAsync(plan, null, cancellationToken);

    /// <returns>The plan in its next state, moved by this or another process; null if it is in another state or was replaced.</returns>
    internal async Task<ImportPlan?> MoveAsync(
        ImportPlan plan, Func<ImportPlan, ImportPlan> change, ImportState[] from, CancellationToken cancellationToken)
    {
        while (true)
        {
            var (now, etag) = await FindAsync(plan.Release, plan.Mode, cancellationToken);
            if (now is null || !now.IsSame(plan))
                return null;
            var next = change(now);
            if (now.State == next.State)
                return now;
            if (!from.Contains(now.State))
                return null;
            if (await WriteAsync(next, etag, cancellationToken))
                return next;
        }
    }

    internal async Task DeleteAsync(ImportPlan plan, CancellationToken cancellationToken)
    {
        var (now, etag) = await FindAsync(plan.Release, plan.Mode, cancellationToken);
        if (now is null || !now.IsSame(plan))
            return;
        await ForgetAsync(plan.Key, plan.Mode, plan.Id, cancellationToken);
        await blobs.DeleteAsync(PasswordNames.PlanOfImport(plan.Release, plan.Mode), etag!, cancellationToken);
    }

    /// <summary>Deletes a plan's records, including those that a late process has written after the plan's end.</summary>
    internal async Task ForgetAsync(ReleaseKey release, HashMode mode, string plan, CancellationToken cancellationToken)
    {
        var names = blobs.ListAsync(PasswordNames.ImportedGroups(release, mode, plan), cancellationToken);
        foreach (var name in await names.ToListAsync(cancellationToken))
            await blobs.DeleteAsync(name, cancellationToken);
    }

    internal async Task<(HashSet<int> Done, ILookup<int, string> Drafts)> ListRecordsAsync(
        ImportPlan plan, CancellationToken cancellationToken)
    {
        var (done, drafts) = (new HashSet<int>(), new List<(int Group, string Name)>());
        var folder = FolderOf(plan);
        await foreach (var name in blobs.ListAsync(folder, cancellationToken))
        {
            var group = int.Parse(name.AsSpan(folder.Length, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            if (name.Length == folder.Length + 2 + RecordEnding.Length)
                done.Add(group);
            else
                drafts.Add((group, name));
        }
        return (done, drafts.ToLookup(one => one.Group, one => one.Name));
    }

    internal Task<GroupRecord?> FindRecordAsync(ImportPlan plan, int group, CancellationToken cancellationToken) =>
        FindRecordAsync(RecordOf(plan, group), cancellationToken);

    internal async Task<GroupRecord?> FindRecordAsync(string name, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob ? Parse(blob, ImportJson.Default.GroupRecord) : null;

    /// <summary>Records that a group was written and read back; an existing record stays.</summary>
    internal Task AddRecordAsync(ImportPlan plan, int group, GroupRecord record, CancellationToken cancellationToken) =>
        WriteRecordAsync(RecordOf(plan, group), record, cancellationToken);

    /// <summary>Records what is about to be written of a group, so that any process that finds the pack recognises it.</summary>
    internal Task AddDraftAsync(ImportPlan plan, int group, GroupRecord record, CancellationToken cancellationToken)
    {
        var made = XxHash3.HashToUInt64(record.Pack!.Entries.Span, record.Pack.Length);
        return WriteRecordAsync(
            string.Create(CultureInfo.InvariantCulture, $"{FolderOf(plan)}{group:x2}-{made:x16}{RecordEnding}"), record, cancellationToken);
    }

    /// <returns>False if the refusal was recorded before.</returns>
    internal async Task<bool> RefuseAsync(string id, RefusedFile file, CancellationToken cancellationToken) =>
        await blobs.WriteAsync(PasswordNames.Refused(id), file, ImportPlanJson.Default.RefusedFile, null, cancellationToken) is not null;

    internal async Task<HashSet<string>> ListRefusedIdsAsync(CancellationToken cancellationToken)
    {
        var names = await ReleaseReader.ListAsync(blobs.ListAsync(PasswordNames.AllRefused, cancellationToken), cancellationToken);
        return [.. names.Select(name => name[PasswordNames.AllRefused.Length..^RecordEnding.Length])];
    }

    internal Task ForgetRefusedAsync(string id, CancellationToken cancellationToken) =>
        blobs.DeleteAsync(PasswordNames.Refused(id), cancellationToken);

    private static string FolderOf(ImportPlan plan) => PasswordNames.ImportedGroups(plan.Key, plan.Mode, plan.Id);

    private static string RecordOf(ImportPlan plan, int group) =>
        string.Create(CultureInfo.InvariantCulture, $"{FolderOf(plan)}{group:x2}{RecordEnding}");

    private static T Parse<T>(PasswordBlob blob, JsonTypeInfo<T> type) => ReleaseReader.Parse(
        blob.Bytes, type,
        document => document is not ImportPlan { Version: not (PasswordRelease.DocumentVersion or PasswordRelease.VersionWithId) },
        "a document of an import");

    private async Task<bool> WriteAsync(ImportPlan plan, string? replaces, CancellationToken cancellationToken) =>
        await blobs.WriteAsync(
            PasswordNames.PlanOfImport(plan.Release, plan.Mode), plan, ImportPlanJson.Default.ImportPlan, replaces, cancellationToken)
        is not null;

    private Task WriteRecordAsync(string name, GroupRecord record, CancellationToken cancellationToken) =>
        blobs.WriteAsync(name, record, ImportJson.Default.GroupRecord, null, cancellationToken);
}
