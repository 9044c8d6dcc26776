using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Import.Drops;

namespace HibpIngest.Passwords.Appends;

/// <summary>
/// Writes the served release, including appended hashes, as a new release in packs. Transactions confirmed during the repack are added to
/// the new release.
/// </summary>
public sealed class RepackPasswords(PasswordStores stores, PasswordReleases releases, IPasswordAppends appends, TimeProvider time)
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    /// <summary>
    /// Repacks the served release. If the process is killed, confirmed transactions wait until the command is run again; it resumes. If the
    /// repack fails or is cancelled, they continue at once.
    /// </summary>
    /// <param name="name">The new release's name; null to name it by the date.</param>
    /// <param name="folder">Folder for temporary packs, each of hundreds of megabytes.</param>
    /// <param name="serve">Serves the new release; called once it is listed.</param>
    /// <param name="waiting">Receives the number of transactions that must still be added before packing begins.</param>
    /// <exception cref="NotPossibleException">No release is served, nothing was appended to it, or it isn't in packs.</exception>
    public async Task<RepackedPasswords> RunAsync(
        string? name, string folder, Func<string, CancellationToken, Task> serve, IProgress<int>? waiting, IProgress<ImportStep>? progress,
        CancellationToken cancellationToken)
    {
        var from = await releases.GetAsync(
            PasswordReleases.NameOf(null, await releases.GetCurrentAsync(cancellationToken)), cancellationToken);
        var old = Parts(from);
        var (to, hold) = await HoldAsync(from, name, cancellationToken);
        IReadOnlyList<ReleasePart> parts;
        try
        {
            await WaitForStartedTransactionsAsync(from.Key, waiting, cancellationToken);
            var listed = await releases.FindAsync(to, cancellationToken);
            parts = listed?.Parts.Count == old.Count ? listed.Parts
                : await PackAsync(from.Key, to, old, folder, hold, progress, cancellationToken);
        }
        catch (Exception)
        {
            // Delete the unlisted release, unless another run has taken over the repack.
            if (await IsHeldAsync(from.Key, hold, CancellationToken.None))
            {
                await releases.DeleteAsync(to, CancellationToken.None);
                await stores.Blobs.DeleteAsync(PasswordNames.Hold(from.Key), CancellationToken.None);
            }
            throw;
        }
        await serve(to, cancellationToken);
        await stores.Blobs.DeleteAsync(PasswordNames.Hold(from.Key), cancellationToken);
        return new RepackedPasswords(from.Name, to, parts);
    }

    private static List<ReleasePart> Parts(PasswordRelease from)
    {
        var parts = from.PartsOf(PasswordBackend.Pack).ToList();
        var modes = from.Parts.Select(part => part.Mode).Distinct().Count();
        return parts.Count == modes ? parts : throw new NotPossibleException(
            $"release {from.Name} is not stored as packs in all of its modes, so it can't be repacked");
    }

    /// <summary>Writes the repack lock, which keeps confirmed transactions from being added to the old release.</summary>
    /// <returns>The new release's name (that of a killed run, if there is one), and the lock's ETag, which identifies this run.</returns>
    private async Task<(string Release, string ETag)> HoldAsync(PasswordRelease from, string? name, CancellationToken cancellationToken)
    {
        var blob = PasswordNames.Hold(from.Key);
        if (await stores.Blobs.ReadAsync(blob, null, cancellationToken) is { } held)
        {
            var hold = JsonSerializer.Deserialize(held.Bytes.Span, AppendJson.Default.ReleaseHold)!;
            if (name is not null && name != hold.Release)
            {
                throw new NotPossibleException($"release {from.Name} is already being repacked as {hold.Release}, or that run was killed: "
                    + $"to resume it, run the command with --release {hold.Release} or without --release");
            }
            // The lock is rewritten: an earlier run that is still alive sees the new ETag and ends.
            return (hold.Release, await WriteAsync(hold, held.ETag));
        }
        if (!await releases.HasChangesAsync(from.Key, cancellationToken))
            throw new NotPossibleException($"nothing was added to release {from.Name} since it was imported: it needs no repacking");
        var to = name is null ? await ReleaseNaming.NewAsync(
            releases, new ImportPlans(stores.Blobs), time.GetUtcNow(), cancellationToken) : PasswordNames.CheckRelease(name);
        if (await releases.FindAsync(to, cancellationToken) is not null)
            throw new NotPossibleException($"release {to} already exists: choose another name with --release");
        return (to, await WriteAsync(new ReleaseHold(to, time.GetUtcNow()), null));

        async Task<string> WriteAsync(ReleaseHold hold, string? replaces) =>
            await stores.Blobs.WriteAsync(blob, hold, AppendJson.Default.ReleaseHold, replaces, cancellationToken)
            ?? throw new NotPossibleException($"release {from.Name} is being repacked by another process: wait until that ends");
    }

    private async Task<bool> IsHeldAsync(ReleaseKey release, string hold, CancellationToken cancellationToken) =>
        (await stores.Blobs.FindAsync(PasswordNames.Hold(release), cancellationToken))?.ETag == hold;

    private async Task WaitForStartedTransactionsAsync(ReleaseKey release, IProgress<int>? waiting, CancellationToken cancellationToken)
    {
        while (true)
        {
            var (started, updateFailed) = (0, false);
            await foreach (var one in appends.ListAsync(cancellationToken))
            {
                if (one.State != AppendState.Confirmed)
                    continue;
                // Updating a transaction changes its ETag, so a process that read it before the lock existed can no longer start it with
                // this release. The transaction may have been started with another release, which was deleted since.
                if (one.Release == release.ToString())
                    started++;
                else if (await appends.UpdateAsync(one, cancellationToken) is null)
                    updateFailed = true;
            }
            if (started == 0 && !updateFailed)
                return;
            waiting?.Report(started);
            await Task.Delay(PollInterval, time, cancellationToken);
        }
    }

    private async Task<IReadOnlyList<ReleasePart>> PackAsync(
        ReleaseKey from, string name, IReadOnlyList<ReleasePart> old, string folder, string hold, IProgress<ImportStep>? progress,
        CancellationToken cancellationToken)
    {
        Directory.CreateDirectory(folder);
        // A killed run may have left an unlisted release under this name.
        await releases.DeleteAsync(name, cancellationToken);
        var to = await releases.BeginAsync(name, cancellationToken);
        var steps = new StepProgress(progress, old.Sum(part => part.Rows), old.Sum(part => part.Rows));
        var parts = new List<ReleasePart>();
        foreach (var part in old)
        {
            var source = await ExtendedRelease.OpenAsync(stores, from, part, time, cancellationToken);
            // replaces: null writes only if no blob exists, so an older run that is still alive can't overwrite this run's packs.
            var target = new PackTarget(stores.Blobs, to, part.Mode, folder, replaces: null);
            var (groups, imported) = (new GroupRecord[PasswordNames.Groups], new RowSum[PasswordNames.Groups]);
            var degree = new ParallelOptions { MaxDegreeOfParallelism = Environment.ProcessorCount, CancellationToken = cancellationToken };
            await Parallel.ForEachAsync(Enumerable.Range(0, PasswordNames.Groups), degree, async (group, token) =>
            {
                (groups[group], imported[group]) = await PackGroupAsync(from, source, target, part.Mode, group, token);
                steps.Add(ImportStepKind.Write, imported[group].Rows);
            });
            if (imported.Aggregate((one, other) => one + other) is var sum && (sum.Rows, sum.Text) != (part.Rows, part.Sum))
            {
                throw new StoreMismatchException($"release {from.Name}: read {sum.Rows} {part.Mode.Name()} hashes, expected {part.Rows} as "
                    + "imported; not repacked. Import the release again, under another name");
            }
            parts.Add(await WrittenPart.CompleteAsync(stores, target, to, part.Mode, groups, null, steps, time, cancellationToken));
        }
        foreach (var part in parts)
        {
            if (!await IsHeldAsync(from, hold, cancellationToken) || !await releases.AddAsync(to, part, cancellationToken))
                throw new NotPossibleException(
                    $"another process has resumed repacking release {from.Name} as {name}; wait for it: hibp passwords status");
        }
        return parts;
    }

    private static async Task<(GroupRecord Group, RowSum Imported)> PackGroupAsync(
        ReleaseKey from, ExtendedRelease source, PackTarget target, HashMode mode, int group, CancellationToken cancellationToken)
    {
        var (total, imported, present) = (new RowSum(), new RowSum(), new byte[PresentRanges.GroupBytes]);
        var (rows, before) = (new List<HashCount>(), new List<HashCount>());
        await using var writer = target.BeginGroup(group);
        await foreach (var range in source.ReadGroupAsync(group, cancellationToken))
        {
            var sum = new RowSum();
            sum.Add(mode, range.Prefix, range.Content, rows);
            total += sum;
            if (range.Added is null)
            {
                imported += sum;
            }
            else if (range.Imported is not null)
            {
                imported.Add(mode, range.Prefix, range.Imported, before);
                if (!Contains(rows, before))
                {
                    throw new StoreMismatchException($"release {from.Name}: range {HashModes.PrefixText(range.Prefix)} ({mode.Name()}), "
                        + "which was appended to, lacks hashes that were imported. Nothing is repacked: import the release again, under "
                        + "another name");
                }
            }
            PresentRanges.Add(present, range.Prefix);
            // The stored bytes are copied unchanged: no recompression, and a pack writer needs no rows.
            await writer.AddAsync(range.Prefix, default, range.Content.Stored.Bytes.ToArray(), cancellationToken);
        }
        return (new GroupRecord(total.Rows, total.Sum, present, await writer.CompleteAsync(total.Rows, cancellationToken)), imported);
    }

    private static bool Contains(List<HashCount> rows, List<HashCount> others)
    {
        var at = 0;
        foreach (var other in others)
        {
            while (at < rows.Count && rows[at].IsBefore(other))
                at++;
            if (at == rows.Count || !rows[at].IsSameHash(other) || rows[at].Count < other.Count)
                return false;
        }
        return true;
    }
}

public sealed record RepackedPasswords(string From, string Release, IReadOnlyList<ReleasePart> Parts);

/// <summary>The content of <see cref="PasswordNames.Hold"/>.</summary>
internal sealed record ReleaseHold(string Release, DateTimeOffset Since);
