namespace HibpIngest.Passwords.Import.Drops;

/// <summary>
/// Imports one group of a dropped file: writes its pack, reads that back and records the group as done; the last group completes the
/// import. The idempotency key is plan and group. A pack is committed once for each plan: a draft record is written first, by which any
/// process recognises the pack, which only replaces the version (If-Match) that was found before the plan was read.
/// </summary>
public sealed class ImportGroup(IPasswordBlobs blobs, IPasswordDrops drops, ImportPlans plans, CompleteImport complete)
    : IMessageStage<ImportMessage>
{
    // A group keeps a core busy and takes some 30 MB of memory and up to 200 MB of disk; hosts deliver 24 messages at once.
    private static readonly int GroupsAtOnce = Math.Clamp(Environment.ProcessorCount, 1, 4);

    // Well below the 10 minutes after which a host may cut an invocation off.
    private static readonly TimeSpan MaxWait = TimeSpan.FromMinutes(4);

    private readonly SemaphoreSlim _groups = new(GroupsAtOnce);

    // Each round is another process's commit between two calls of this one.
    private const int MaxRounds = 16;

    /// <summary>Returns when the group is done, by any process, or its plan no longer exists.</summary>
    public async Task RunAsync(ImportMessage message, CancellationToken cancellationToken)
    {
        if (!await _groups.WaitAsync(MaxWait, cancellationToken))
            throw new StoreThrottledException($"this process already imports {GroupsAtOnce} groups; the message is redelivered");
        try
        {
            await ImportAsync(message, cancellationToken);
        }
        catch (IOException e) when (DiskFull.Is(e))
        {
            throw new StoreFullException(
                $"the disk of '{Path.GetTempPath()}' is full: free up to 200 MB for each pack, or set TMPDIR (on Windows TMP) to a folder "
                + "on another disk", e);
        }
        finally
        {
            _groups.Release();
        }
    }

    private async Task ImportAsync(ImportMessage message, CancellationToken cancellationToken)
    {
        var release = ReleaseKey.Parse(message.Release);
        var name = PasswordNames.Pack(release, message.Mode, message.Group);
        string? written = null;
        for (var round = 0; round < MaxRounds; round++)
        {
            // The pack is read first: if its version is still the same at the end, no later plan has written it.
            var pack = await blobs.FindAsync(name, cancellationToken);
            var (plan, _) = await plans.FindAsync(release.Name, message.Mode, cancellationToken);
            if (plan is null || (plan.Id, plan.Key) != (message.Plan, release))
            {
                await plans.ForgetAsync(release, message.Mode, message.Plan, cancellationToken);
                return;
            }
            if (plan.State is not (ImportState.Planned or ImportState.Running))
                return;
            var (done, drafts) = await plans.ListRecordsAsync(plan, cancellationToken);
            if (done.Contains(message.Group) || await AdoptAsync(plan, message.Group, pack, drafts[message.Group], cancellationToken))
            {
                await complete.TryAsync(plan, cancellationToken);
                return;
            }
            try
            {
                if (written is not null && written == pack?.ETag)
                {
                    throw new BadInputException($"'{plan.File}': ranges {message.Group:X2}000 to {message.Group:X2}FFF, read back from "
                        + "pack, are not what was written: drop the file again");
                }
                written = await WriteAsync(plan, message.Group, pack, cancellationToken);
            }
            catch (BadInputException e)
            {
                await complete.AbandonAsync(plan, e.Message, cancellationToken);
                return;
            }
            catch (FileReplacedException)
            {
                await complete.AbandonReplacedAsync(plan, cancellationToken);
                return;
            }
        }
        throw new UnavailableException(
            $"pack {message.Group:X2} of release {release.Name}: other workers changed it in each of {MaxRounds} attempts");
    }

    /// <summary>Records the group as done if this plan has written the pack, after reading it back.</summary>
    private async Task<bool> AdoptAsync(
        ImportPlan plan, int group, PasswordBlobVersion? pack, IEnumerable<string> drafts, CancellationToken cancellationToken)
    {
        if (pack is null)
            return false;
        foreach (var draft in drafts)
        {
            if (await plans.FindRecordAsync(draft, cancellationToken) is not { Pack: not null } record || record.Pack.Length != pack.Length)
                continue;
            record = record with { Pack = record.Pack with { ETag = pack.ETag } };
            if (!await HoldsAsync(plan, group, record, cancellationToken))
                continue;
            await plans.AddRecordAsync(plan, group, record, cancellationToken);
            return true;
        }
        return false;
    }

    private async Task<bool> HoldsAsync(ImportPlan plan, int group, GroupRecord record, CancellationToken cancellationToken)
    {
        try
        {
            var ranges = PackSource.ReadPackAsync(blobs, plan.Key, plan.Mode, group, record.Pack!, cancellationToken);
            return await ReleaseSums.SumAsync(ranges, plan.Mode) == record.Total;
        }
        catch (Exception e) when (e is StoreMismatchException or RangeMissingException)
        {
            return false; // damaged, another draft's, or replaced in the meantime
        }
    }

    /// <returns>The version that was written; null if another process has written the pack, or there is nothing to write.</returns>
    private async Task<string?> WriteAsync(ImportPlan plan, int group, PasswordBlobVersion? before, CancellationToken cancellationToken)
    {
        var rows = new GroupRows(plan.Mode);
        await using var file = new PackFile(Path.Combine(Path.GetTempPath(), $"hibp-{Guid.NewGuid():N}.pack"), plan.Mode, group);
        var piece = new SortedPiece(new DropReader(drops, plan.Source), plan.Mode, group, plan.Offsets[group], plan.Offsets[group + 1]);
        await piece.ReadAsync((prefix, range, token) => file.AddAsync(prefix, rows.Add(prefix, range.Span), token), cancellationToken);
        var record = new GroupRecord(
            rows.Total.Rows, rows.Total.Sum, rows.Present, await file.CompleteAsync(rows.Total.Rows, cancellationToken));
        if (record.Rows == 0)
        {
            await plans.AddRecordAsync(plan, group, record, cancellationToken);
            return null;
        }
        await plans.AddDraftAsync(plan, group, record, cancellationToken);
        return await blobs.UploadAsync(PasswordNames.Pack(plan.Key, plan.Mode, group), file.Content, before?.ETag, cancellationToken);
    }
}
