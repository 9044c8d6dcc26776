namespace HibpIngest.Passwords.Import.Drops;

/// <summary>Resumes interrupted imports of dropped files, and plans files that no event announced. May send duplicates.</summary>
public sealed partial class SweepImports(
    IPasswordDrops drops, ImportPlans plans, ImportMessages messages, PlanImport plan, CompleteImport complete, TimeProvider time,
    ILogger<SweepImports> log)
{
    // Many times the duration of 256 sends.
    private static readonly TimeSpan SendingAge = TimeSpan.FromMinutes(1);

    // Leftovers of an import whose file was deleted harm nothing, and a listing costs as much as a write.
    private static readonly TimeSpan IdleInterval = TimeSpan.FromMinutes(15);

    private DateTimeOffset _nextSweepAt;

    /// <summary>Plans files that have neither a plan nor a refusal.</summary>
    /// <param name="minimumAge">Younger files are left to the next scan, or to the event that is on its way.</param>
    public async Task ScanAsync(TimeSpan minimumAge, CancellationToken cancellationToken) =>
        await ScanAsync(await drops.ListAsync(cancellationToken).ToListAsync(cancellationToken), minimumAge, cancellationToken);

    /// <summary>Resumes imports and plans files. Costs one listing if no file is there and nothing was found lately.</summary>
    public async Task RunAsync(TimeSpan minimumAge, CancellationToken cancellationToken)
    {
        var files = await drops.ListAsync(cancellationToken).ToListAsync(cancellationToken);
        var now = time.GetUtcNow();
        if (files.Count == 0 && now < _nextSweepAt)
            return;
        var found = false;
        await foreach (var one in plans.ListAsync(cancellationToken))
        {
            found = true;
            await SweepAsync(one, cancellationToken);
        }
        found |= await ForgetAsync(files, cancellationToken);
        _nextSweepAt = found ? now : now + IdleInterval;
        await ScanAsync(files, minimumAge, cancellationToken);
    }

    private async Task ScanAsync(List<DroppedPasswords> files, TimeSpan minimumAge, CancellationToken cancellationToken)
    {
        if (minimumAge > TimeSpan.Zero)
        {
            var before = time.GetUtcNow() - minimumAge;
            files = [.. files.Where(file => file.LastModified <= before)];
        }
        if (files.Count == 0)
            return;
        var known = await plans.ListRefusedIdsAsync(cancellationToken);
        await foreach (var one in plans.ListAsync(cancellationToken))
            known.Add(one.Id);
        foreach (var file in files.Where(file => !known.Contains(ImportPlan.IdOf(file))))
        {
            cancellationToken.ThrowIfCancellationRequested();
            await plan.RunAsync(file, cancellationToken);
        }
    }

    private async Task SweepAsync(ImportPlan one, CancellationToken cancellationToken)
    {
        // The queues are checked before the finished groups are listed: a group missing in that list had no message even then.
        var areQueuesEmpty = one.State == ImportState.Running && await messages.AreQueuesEmptyAsync(cancellationToken);
        var missing = one.Groups.Except((await plans.ListRecordsAsync(one, cancellationToken)).Done).ToList();
        if (missing.Count == 0 || one.State is not (ImportState.Planned or ImportState.Running))
        {
            await complete.TryAsync(one, cancellationToken);
        }
        else if ((await drops.FindAsync(one.File, cancellationToken))?.ETag != one.ETag)
        {
            await complete.AbandonReplacedAsync(one, cancellationToken);
        }
        else if (areQueuesEmpty || (one.State == ImportState.Planned && time.GetUtcNow() - one.PlannedAt >= SendingAge))
        {
            LogResent(one.Release, one.Mode.Name(), missing.Count);
            await messages.SendAsync(one, missing, cancellationToken);
            await plans.MoveAsync(one, now => now with { State = ImportState.Running }, [ImportState.Planned], cancellationToken);
        }
    }

    /// <summary>Forgets refused files that were deleted or replaced; returns whether any file was refused.</summary>
    private async Task<bool> ForgetAsync(List<DroppedPasswords> files, CancellationToken cancellationToken)
    {
        var refused = await plans.ListRefusedIdsAsync(cancellationToken);
        foreach (var id in refused.Except(files.Select(ImportPlan.IdOf)))
            await plans.ForgetRefusedAsync(id, cancellationToken);
        return refused.Count > 0;
    }

    [LoggerMessage(EventIds.SweepImportsResent, LogLevel.Warning, "release {Release}, {Mode}: {Messages} lost import messages sent again")]
    private partial void LogResent(string release, string mode, int messages);
}
