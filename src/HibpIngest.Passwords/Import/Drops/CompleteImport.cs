using HibpIngest.Passwords.Replicas;

namespace HibpIngest.Passwords.Import.Drops;

/// <summary>
/// Completes the import of a dropped file: once all its groups are done, lists them in the release, serves it and deletes the file; or
/// abandons the import. The idempotency key is the plan. Every step may run twice or concurrently: the plan's state records what was
/// started, and what is written is the same each time.
/// </summary>
public sealed partial class CompleteImport(
    PasswordStores stores, PasswordReleases releases, ReplicatedReleases replicated, IPasswordDrops drops, ImportPlans plans,
    TimeProvider time, ILogger<CompleteImport> log)
{
    private const int MaxConcurrency = 16;

    private static readonly ImportState[] Stoppable = [ImportState.Planned, ImportState.Running];

    /// <summary>Completes the import as far as possible; does nothing if groups are missing.</summary>
    public async Task TryAsync(ImportPlan plan, CancellationToken cancellationToken)
    {
        if ((await plans.FindAsync(plan.Release, plan.Mode, cancellationToken)).Plan is not { } now || !now.IsSame(plan))
        {
            await plans.ForgetAsync(plan.Key, plan.Mode, plan.Id, cancellationToken);
            return;
        }
        if (now.State is ImportState.Done or ImportState.Ended)
        {
            await CleanUpAsync(now, cancellationToken);
            return;
        }
        if (!(await plans.ListRecordsAsync(now, cancellationToken)).Done.IsSupersetOf(now.Groups)
            || await ReadAsync(now, cancellationToken) is not { } groups)
            return;
        if (now.State != ImportState.Finishing)
        {
            if (await FindObstacleAsync(now, groups, cancellationToken) is { } end)
            {
                await AbandonAsync(now, end, cancellationToken);
                return;
            }
            now = await plans.MoveAsync(now, one => one with { State = ImportState.Finishing }, Stoppable, cancellationToken);
        }
        if (now is not null)
            await FinishAsync(now, groups, cancellationToken);
    }

    /// <summary>Abandons an import, unless it can't be stopped any more. Its file stays and is recorded as refused.</summary>
    internal async Task AbandonAsync(ImportPlan plan, string reason, CancellationToken cancellationToken) =>
        await AbandonAsync(plan, Refused(reason), cancellationToken);

    /// <summary>Abandons an import whose file was replaced or deleted; an import that can't be stopped any more is completed.</summary>
    internal async Task AbandonReplacedAsync(ImportPlan plan, CancellationToken cancellationToken)
    {
        if (await AbandonAsync(plan, now => now with { State = ImportState.Ended }, cancellationToken))
            LogReplaced(plan.File, plan.Release);
        else
            await TryAsync(plan, cancellationToken);
    }

    internal async Task RefuseAsync(DroppedPasswords file, string reason, CancellationToken cancellationToken)
    {
        var refused = new RefusedFile(NameText.HoldsAt(file.Name) ? "" : NameText.Escape(file.Name), reason, time.GetUtcNow());
        if (await plans.RefuseAsync(ImportPlan.IdOf(file), refused, cancellationToken))
            LogRefused(refused.File, reason);
    }

    private async Task<bool> AbandonAsync(ImportPlan plan, Func<ImportPlan, ImportPlan> change, CancellationToken cancellationToken)
    {
        if (await plans.MoveAsync(plan, change, Stoppable, cancellationToken) is not { } ended)
            return false;
        await CleanUpAsync(ended, cancellationToken);
        return true;
    }

    /// <returns>The records of all groups; null if another process has finished the import in the meantime.</returns>
    private async Task<GroupRecord[]?> ReadAsync(ImportPlan plan, CancellationToken cancellationToken)
    {
        var nothing = new GroupRecord(0, 0, new byte[PresentRanges.GroupBytes], PackFile.NoRanges());
        var groups = Enumerable.Repeat<GroupRecord?>(nothing, PasswordNames.Groups).ToArray();
        await EachAsync(
            plan.Groups, async (group, token) => groups[group] = await plans.FindRecordAsync(plan, group, token), cancellationToken);
        return groups.Contains(null) ? null : [.. groups.OfType<GroupRecord>()];
    }

    private static Func<ImportPlan, ImportPlan> Refused(string reason) => plan => plan with { State = ImportState.Ended, Reason = reason };

    /// <returns>How the plan ends if the import can't be completed. Null if it can.</returns>
    private async Task<Func<ImportPlan, ImportPlan>?> FindObstacleAsync(
        ImportPlan plan, GroupRecord[] groups, CancellationToken cancellationToken)
    {
        var total = Total(groups);
        if (total.Rows == 0)
            return Refused($"'{plan.File}': the file contains no hash: delete it");
        var known = await releases.ListAsync(cancellationToken);
        var same = known.FirstOrDefault(release => release.PartsOf(PasswordBackend.Pack).Any(
            part => (part.Mode, part.Rows, part.Sum) == (plan.Mode, total.Rows, total.Text)));
        if (same is not null && !plan.IsNamed)
            return now => now with { State = ImportState.Ended, AlreadyIn = same.Name };
        if (known.Any(release => release.Name == plan.Release
            && release.PartsOf(PasswordBackend.Pack).Any(part => part.Mode == plan.Mode)))
        {
            return Refused($"'{plan.File}': release {plan.Release} has {plan.Mode.Name()} hashes by now, which are never replaced: "
                + $"drop the file again{(plan.IsNamed ? " into the folder of another release" : "")}, or delete it");
        }
        try
        {
            await releases.RequireCompleteAsync(known.FirstOrDefault(release => release.Key == plan.Key), [plan.Mode], cancellationToken);
        }
        catch (NotPossibleException e)
        {
            return Refused($"'{plan.File}': {e.Message}");
        }
        // An import by 'hibp passwords import' into the same release and mode is not visible here, and overwrites packs.
        var changed = 0;
        await EachAsync(plan.Groups.Where(group => groups[group].Rows > 0), async (group, token) =>
        {
            var pack = await stores.Blobs.FindAsync(PasswordNames.Pack(plan.Key, plan.Mode, group), token);
            if (pack?.ETag != groups[group].Pack!.ETag)
                Interlocked.Increment(ref changed);
        }, cancellationToken);
        return changed == 0 ? null : Refused(
            $"'{plan.File}': {changed} packs of release {plan.Release} were overwritten meanwhile, probably by 'hibp passwords "
            + "import': wait until it has ended, and drop the file again");
    }

    private async Task FinishAsync(ImportPlan plan, GroupRecord[] groups, CancellationToken cancellationToken)
    {
        var total = Total(groups);
        var etag = await WriteIndexAsync(plan, groups, cancellationToken);
        var listed = await releases.FindAsync(plan.Release, cancellationToken);
        if (listed?.Key != plan.Key || !listed.Parts.Any(part => part.ETag == etag))
        {
            var part = new ReleasePart(PasswordBackend.Pack, plan.Mode, total.Rows, total.Text, etag, time.GetUtcNow())
            {
                Source = $"{IPasswordDrops.Container} {plan.Id}",
            };
            if (!await ListAsync(plan, part, cancellationToken))
                return;
            LogListed(plan.File, plan.Release, total.Rows, plan.Mode.Name());
        }
        // Another process may have completed all of it, and another release may be served by now.
        if ((await plans.FindAsync(plan.Release, plan.Mode, cancellationToken)).Plan is not { State: ImportState.Finishing } now
            || !now.IsSame(plan))
            return;
        await SwitchAsync(plan, cancellationToken);
        await drops.DeleteAsync(plan.Source, cancellationToken);
        if (await plans.MoveAsync(
            plan, one => one with { State = ImportState.Done }, [ImportState.Finishing], cancellationToken) is { } done)
            await CleanUpAsync(done, cancellationToken);
    }

    /// <summary>Lists the part; returns false after abandoning the import, if the release was deleted or appended to.</summary>
    private async Task<bool> ListAsync(ImportPlan plan, ReleasePart part, CancellationToken cancellationToken)
    {
        string? reason = null;
        try
        {
            if (await releases.AddAsync(plan.Key, part, cancellationToken))
                return true;
        }
        catch (NotPossibleException e)
        {
            reason = $"'{plan.File}': {e.Message}";
        }
        // If there is no reason, the file is planned again, into a release of its own.
        var ended = await plans.MoveAsync(
            plan, now => now with { State = ImportState.Ended, Reason = reason }, [ImportState.Finishing], cancellationToken);
        if (ended is not null)
            await CleanUpAsync(ended, cancellationToken);
        return false;
    }

    /// <summary>Writes the index unless it exists: the release names its version, which must not change.</summary>
    private async Task<string> WriteIndexAsync(ImportPlan plan, GroupRecord[] groups, CancellationToken cancellationToken)
    {
        var name = PasswordNames.Index(plan.Key, plan.Mode);
        var index = PackIndex.Make(plan.Mode, [.. groups.Select(group => group.Pack!)]);
        while (true)
        {
            var existing = await stores.Blobs.ReadAsync(name, null, cancellationToken);
            if (existing?.Bytes.Span.SequenceEqual(index) == true)
                return existing.ETag;
            if (await stores.Blobs.WriteAsync(name, PasswordContent.Binary(index), existing?.ETag, cancellationToken) is { } etag)
                return etag;
        }
    }

    private async Task SwitchAsync(ImportPlan plan, CancellationToken cancellationToken)
    {
        var (shortfalls, replicas) = await replicated.SwitchImportedAsync(PasswordBackend.Pack, plan.Release, cancellationToken);
        if (shortfalls.FirstOrDefault(one => one.Rows == 0) is { } lost)
        {
            LogNotServed(plan.Release, lost.Mode.Name());
            return;
        }
        if (shortfalls.Count > 0)
        {
            LogTooSmall(plan.Release, shortfalls[0].ToString());
            return;
        }
        LogServed(plan.Release);
        foreach (var replica in replicas.Where(one => one.Result != ReplicaResult.Done))
        {
            LogReplicaBehind(replica.Replica, plan.Release, replica.Result == ReplicaResult.Lacking
                ? $"its copy is incomplete; run: hibp passwords replicate --release {plan.Release}" : replica.Reason ?? "");
        }
    }

    /// <summary>Removes what is left of an import that has ended, the plan last.</summary>
    private async Task CleanUpAsync(ImportPlan plan, CancellationToken cancellationToken)
    {
        if (plan.State == ImportState.Ended)
        {
            if (plan.Reason is not null)
                await RefuseAsync(plan.Source, plan.Reason, cancellationToken);
            // Deletes packs of this plan only: another plan's have other versions.
            var (done, _) = await plans.ListRecordsAsync(plan, cancellationToken);
            await EachAsync(done, async (group, token) =>
            {
                if (await plans.FindRecordAsync(plan, group, token) is { Rows: > 0 } record)
                    await stores.Blobs.DeleteAsync(PasswordNames.Pack(plan.Key, plan.Mode, group), record.Pack!.ETag, token);
            }, cancellationToken);
            if (plan.AlreadyIn is not null)
            {
                LogAlready(plan.File, plan.AlreadyIn, plan.Mode.Name());
                await drops.DeleteAsync(plan.Source, cancellationToken);
            }
        }
        await plans.DeleteAsync(plan, cancellationToken);
    }

    private static RowSum Total(GroupRecord[] groups) => groups.Aggregate(new RowSum(), (sum, group) => sum + group.Total);

    private static Task EachAsync(IEnumerable<int> groups, Func<int, CancellationToken, Task> work, CancellationToken cancellationToken) =>
        Parallel.ForEachAsync(
            groups, new ParallelOptions { MaxDegreeOfParallelism = MaxConcurrency, CancellationToken = cancellationToken },
            async (group, token) => await work(group, token));

    [LoggerMessage(
        EventIds.CompleteImportListed, LogLevel.Information, "'{File}': imported into release {Release} ({Rows} {Mode} hashes in pack)")]
    private partial void LogListed(string file, string release, long rows, string mode);

    [LoggerMessage(EventIds.CompleteImportServed, LogLevel.Information, "release {Release}: served from pack")]
    private partial void LogServed(string release);

    [LoggerMessage(EventIds.CompleteImportRefused, LogLevel.Error, "password file '{File}': import refused ({Reason})")]
    private partial void LogRefused(string file, string reason);

    [LoggerMessage(
        EventIds.CompleteImportReplaced, LogLevel.Warning,
        "'{File}': replaced or deleted before its import into release {Release} was complete; nothing was kept")]
    private partial void LogReplaced(string file, string release);

    [LoggerMessage(
        EventIds.CompleteImportAlready, LogLevel.Warning, "'{File}': deleted because release {Release} already has the same {Mode} hashes")]
    private partial void LogAlready(string file, string release, string mode);

    [LoggerMessage(
        EventIds.CompleteImportNotServed, LogLevel.Warning,
        "release {Release}: not served yet because it lacks the {Mode} hashes of the served release; drop those too, or run: "
        + "hibp passwords switch pack --release {Release}")]
    private partial void LogNotServed(string release, string mode);

    [LoggerMessage(
        EventIds.CompleteImportTooSmall, LogLevel.Warning,
        "release {Release}: not served ({Reason}); to serve it anyway, run: hibp passwords switch pack --release {Release}")]
    private partial void LogTooSmall(string release, string reason);

    [LoggerMessage(EventIds.CompleteImportReplicaBehind, LogLevel.Warning, "replica {Replica}: release {Release} not served: {Reason}")]
    private partial void LogReplicaBehind(string replica, string release, string reason);
}
