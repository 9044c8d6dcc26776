using HibpIngest.Passwords.Appends;

namespace HibpIngest.Passwords.Replicas;

/// <summary>Copies a release to another account, and lists each part once it was read back there. A further run resumes.</summary>
public sealed class ReplicatePasswords(PasswordStores primary, PasswordReleases releases, TimeProvider time)
{
    // Each uploads four blocks at a time.
    private const int PacksAtOnce = 2;
    private const int BlobsAtOnce = 32;
    private const int PartitionsAtOnce = 8;
    private const int ChangesAtOnce = 4_096;

    /// <summary>Returns the name of the release to copy: the given one, or the newest.</summary>
    /// <exception cref="NotPossibleException">There is no such release.</exception>
    public async Task<string> ChooseAsync(string? release, CancellationToken cancellationToken)
    {
        if (release is not null)
            return (await releases.GetAsync(release, cancellationToken)).Name;
        return (await releases.ListAsync(cancellationToken)).MaxBy(one => one.CreatedAt)?.Name
            ?? throw new NotPossibleException("there are no passwords to copy: import them with 'hibp passwords import FILE'");
    }

    /// <returns>Hashes of the parts that were copied by this run; 0: everything was there.</returns>
    /// <exception cref="NotPossibleException">There is no such release, or the replica has another one of that name.</exception>
    /// <exception cref="StoreMismatchException">The rows read back differ from those imported; the part is not listed.</exception>
    public async Task<long> RunAsync(
        PasswordReplica replica, string release, IProgress<ImportStep>? progress, CancellationToken cancellationToken)
    {
        var found = await releases.GetAsync(release, cancellationToken);
        await replica.Stores.Blobs.CreateAsync(cancellationToken);
        if ((await ReleaseReader.ReadAsync(replica.Stores.Blobs, release, cancellationToken)).Release is { Deleted: false } existing
            && !ReplicatedReleases.IsCopy(existing, found))
        {
            throw new NotPossibleException($"replica {replica.Name} has another release {release}, which is not a copy of this one: delete "
                + $"it there first ('hibp passwords delete {release}' with HIBP_STORAGE naming that account)");
        }
        // Under an id of its own, so that leftovers of an earlier copy are not taken for parts of this one.
        var copy = new ReleaseCopy(found.Key, replica.Stores, await replica.Releases.BeginAsync(release, cancellationToken, found.Id));
        var listed = await replica.Releases.FindAsync(release, cancellationToken);
        ReleasePart[] parts = [.. found.Parts.Where(part => !ReplicatedReleases.Holds(listed, found, [part]))];
        var rows = parts.Sum(part => part.Rows);
        var steps = new StepProgress(progress, rows, rows);
        foreach (var part in parts)
        {
            var etag = part.Backend switch
            {
                PasswordBackend.Pack => await CopyPacksAsync(copy, part, steps, cancellationToken),
                PasswordBackend.Blob => await CopyBlobsAsync(copy, part, steps, cancellationToken),
                _ => await CopyTableAsync(copy, part, steps, cancellationToken),
            };
            var written = part with { ETag = etag };
            await VerifyAsync(replica, copy.There, written, steps, cancellationToken);
            // Before the part is listed: a listed part is complete.
            await CopyChangesAsync(copy, cancellationToken);
            if (!await replica.Releases.AddAsync(copy.There, written, cancellationToken, isCopy: true))
            {
                throw new NotPossibleException(
                    $"release {release} was deleted from replica {replica.Name} while it was copied: run the same command again");
            }
        }
        if (parts.Length == 0)
            await CopyChangesAsync(copy, cancellationToken);
        return rows;
    }

    /// <summary>Copies what was added to the release since the last copy; the list of changes is written after the ranges.</summary>
    private async Task CopyChangesAsync(ReleaseCopy copy, CancellationToken cancellationToken)
    {
        var to = copy.To.Blobs;
        var log = new ChangeLog(to, copy.There);
        var isRecorded = await new ChangeLog(primary.Blobs, copy.Here).ProcessAsync(
            to, PasswordNames.Copied(copy.There), ChangesAtOnce, async changed =>
            {
                await Parallel.ForEachAsync(changed, Degree(BlobsAtOnce, cancellationToken), async (range, token) =>
                {
                    var blob = await primary.Blobs.ReadAsync(PasswordNames.Overlay(copy.Here, range.Mode, range.Prefix), null, token)
                        ?? throw new RangeMissingException(copy.Here);
                    await to.WriteAsync(
                        PasswordNames.Overlay(copy.There, range.Mode, range.Prefix),
                        PasswordContent.Range(blob.Bytes) with { Note = blob.Note }, IPasswordBlobs.Anything, token);
                });
                // With the present time, so that readers of that account see them as new changes.
                foreach (var mode in changed.GroupBy(range => range.Mode, range => range.Prefix))
                    await log.AddAsync(mode.Key, [.. mode], time.GetUtcNow(), cancellationToken);
            }, cancellationToken);
        if (!isRecorded)
            throw new NotPossibleException($"release {copy.Here.Name} is being copied by another process");
    }

    private async Task<string> CopyPacksAsync(ReleaseCopy copy, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var name = PasswordNames.Index(copy.Here, part.Mode);
        var index = PackIndex.Parse(part.Mode, await ReleaseReader.ReadListAsync(primary.Blobs, name, part, cancellationToken));
        PackRecord[] packs = [.. Enumerable.Range(0, PasswordNames.Groups).Select(index.RecordOf)];
        await Parallel.ForEachAsync(Enumerable.Range(0, packs.Length), Degree(PacksAtOnce, cancellationToken), async (pack, token) =>
        {
            var record = packs[pack];
            // A pack without ranges was never written.
            if (record.Rows > 0)
                packs[pack] = record with { ETag = await CopyPackAsync(copy, part.Mode, pack, record, token) };
            steps.Add(ImportStepKind.Write, record.Rows);
        });
        return (await copy.To.Blobs.WriteAsync(
            PasswordNames.Index(copy.There, part.Mode), PasswordContent.Binary(PackIndex.Make(part.Mode, packs)), IPasswordBlobs.Anything,
            cancellationToken))!;
    }

    /// <summary>Copies a pack unless an identical one exists, and returns its version.</summary>
    private async Task<string> CopyPackAsync(
        ReleaseCopy copy, HashMode mode, int pack, PackRecord record, CancellationToken cancellationToken)
    {
        var (from, to) = (PasswordNames.Pack(copy.Here, mode, pack), PasswordNames.Pack(copy.There, mode, pack));
        var existing = await copy.To.Blobs.FindAsync(to, cancellationToken);
        if (existing?.Length == record.Length)
        {
            var known = new PackStream(copy.To.Blobs, copy.There, to, record with { ETag = existing.ETag });
            if (await AreSameAsync(new PackStream(primary.Blobs, copy.Here, from, record), known, cancellationToken))
                return existing.ETag;
        }
        return (await copy.To.Blobs.UploadAsync(
            to, new PackStream(primary.Blobs, copy.Here, from, record), IPasswordBlobs.Anything, cancellationToken))!;
    }

    private async Task<string> CopyBlobsAsync(ReleaseCopy copy, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var (to, list) = (copy.To.Blobs, PasswordNames.Present(copy.There, part.Backend, part.Mode));
        // At first most are missing: a listing names 5,000 for the cost of checking one.
        var known = await to.ListAsync(list[..(list.LastIndexOf('/') + 1)], cancellationToken)
            .ToHashSetAsync(cancellationToken: cancellationToken);
        return await CopyRangesAsync(copy, part, BlobsAtOnce, async (prefix, token) =>
        {
            var name = PasswordNames.Range(copy.There, part.Mode, prefix);
            var blob = await primary.Blobs.ReadAsync(PasswordNames.Range(copy.Here, part.Mode, prefix), null, token)
                ?? throw new RangeMissingException(copy.Here);
            if (!known.Contains(name) || await to.ReadAsync(name, null, token) is not { } existing
                || !existing.Bytes.Span.SequenceEqual(blob.Bytes.Span))
                await to.WriteAsync(name, PasswordContent.Range(blob.Bytes), IPasswordBlobs.Anything, token);
        }, steps, cancellationToken);
    }

    private async Task<string> CopyTableAsync(ReleaseCopy copy, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var (from, to) = (PasswordNames.Table(copy.Here, part.Mode), PasswordNames.Table(copy.There, part.Mode));
        var isNew = await copy.To.Tables.CreateAsync(to, cancellationToken);
        return await CopyRangesAsync(copy, part, PartitionsAtOnce, async (prefix, token) =>
        {
            var partition = HashModes.PrefixText(prefix);
            var rows = await primary.Tables.ReadAsync(from, partition, token);
            if (isNew || !rows.SequenceEqual(await copy.To.Tables.ReadAsync(to, partition, token)))
                await copy.To.Tables.WriteAsync(to, partition, rows, token);
        }, steps, cancellationToken);
    }

    private async Task<string> CopyRangesAsync(
        ReleaseCopy copy, ReleasePart part, int atOnce, Func<int, CancellationToken, Task> copyRange, StepProgress steps,
        CancellationToken cancellationToken)
    {
        var name = PasswordNames.Present(copy.Here, part.Backend, part.Mode);
        var list = await ReleaseReader.ReadListAsync(primary.Blobs, name, part, cancellationToken);
        var present = PresentRanges.Parse(part.Mode, list);
        int[] prefixes = [.. Enumerable.Range(0, PasswordNames.Groups).SelectMany(present.OfGroup)];
        var done = 0;
        await Parallel.ForEachAsync(prefixes, Degree(atOnce, cancellationToken), async (prefix, token) =>
        {
            await copyRange(prefix, token);
            // The rows of a range are known only once it is read back; assume that they are evenly distributed, as hashes are.
            var number = Interlocked.Increment(ref done);
            steps.Add(ImportStepKind.Write, (part.Rows * number / prefixes.Length) - (part.Rows * (number - 1) / prefixes.Length));
        });
        return (await copy.To.Blobs.WriteAsync(
            PasswordNames.Present(copy.There, part.Backend, part.Mode), PasswordContent.Binary(list), IPasswordBlobs.Anything,
            cancellationToken))!;
    }

    private static async Task VerifyAsync(
        PasswordReplica replica, ReleaseKey release, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var source = await ReleaseReader.OpenAsync(replica.Stores, release, part, cancellationToken);
        var total = new RowSum();
        await foreach (var (_, sum) in ReleaseSums.ReadAsync(source, part.Mode, cancellationToken))
        {
            total += sum;
            steps.Add(ImportStepKind.Verify, sum.Rows);
        }
        if ((total.Rows, total.Text) != (part.Rows, part.Sum))
        {
            throw new StoreMismatchException(
                $"release {release.Name}, read back from {part.Backend.Name()} of replica {replica.Name}, is not what was imported: "
                + $"{total.Rows} {part.Mode.Name()} hashes, and {part.Rows} were expected; it is not listed there. Run the same command "
                + "again to copy what differs; delete surplus ranges by 'hibp passwords delete' with HIBP_STORAGE naming that account");
        }
    }

    private static async Task<bool> AreSameAsync(PackStream one, PackStream other, CancellationToken cancellationToken)
    {
        var (bytes, others) = (new byte[1 << 20], new byte[1 << 20]);
        while (true)
        {
            var length = await one.ReadAtLeastAsync(bytes, bytes.Length, throwOnEndOfStream: false, cancellationToken);
            var same = await other.ReadAtLeastAsync(others, others.Length, throwOnEndOfStream: false, cancellationToken) == length
                && bytes.AsSpan(0, length).SequenceEqual(others.AsSpan(0, length));
            if (!same || length == 0)
                return same;
        }
    }

    private static ParallelOptions Degree(int atOnce, CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = atOnce, CancellationToken = cancellationToken };

    /// <param name="Here">The release's key in the primary.</param>
    /// <param name="There">The copy's key in the destination.</param>
    private sealed record ReleaseCopy(ReleaseKey Here, PasswordStores To, ReleaseKey There);
}

internal sealed class PackStream(IPasswordBlobs blobs, ReleaseKey release, string name, PackRecord pack) : ForwardStream
{
    private const int WindowBytes = 4 << 20;

    private ReadOnlyMemory<byte> _window;
    private long _next;

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (_window.IsEmpty && _next < pack.Length)
        {
            var length = (int)Math.Min(WindowBytes, pack.Length - _next);
            var part = await blobs.ReadPartAsync(name, pack.ETag, _next, length, cancellationToken)
                ?? throw new RangeMissingException(release);
            (_window, _next) = (part.Bytes, _next + length);
        }
        var taken = Math.Min(buffer.Length, _window.Length);
        _window[..taken].CopyTo(buffer);
        _window = _window[taken..];
        return taken;
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
