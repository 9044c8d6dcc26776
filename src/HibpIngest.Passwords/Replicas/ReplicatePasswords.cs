using HibpIngest.Passwords.Appends;

namespace HibpIngest.Passwords.Replicas;

/// <summary>
/// Copies a release to a replica's storage account. A part is listed there after it has been read back and verified. A repeated run
/// resumes.
/// </summary>
public sealed class ReplicatePasswords(PasswordStores primary, PasswordReleases releases, TimeProvider time)
{
    // Four blocks of a pack are uploaded concurrently.
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

    /// <returns>Number of hashes in the parts that this run copied; 0 if the replica already had all of them.</returns>
    /// <exception cref="NotPossibleException">There is no such release, or the replica has a different one with that name.</exception>
    /// <exception cref="StoreMismatchException">The rows read back differ from those imported; the part is not listed.</exception>
    public async Task<long> RunAsync(
        PasswordReplica replica, string release, IProgress<ImportStep>? progress, CancellationToken cancellationToken)
    {
        var found = await releases.GetAsync(release, cancellationToken);
        await replica.Stores.Blobs.CreateAsync(cancellationToken);
        if ((await ReleaseReader.ReadAsync(replica.Stores.Blobs, release, cancellationToken)).Release is { Deleted: false } existing
            && !ReplicatedReleases.IsCopy(existing, found))
        {
            throw new NotPossibleException($"replica {replica.Name} has a different release named {release}: delete it there first "
                + $"('hibp passwords delete {release}' with HIBP_STORAGE set to that storage account)");
        }
        // The copy gets a new id, so that leftovers of an earlier copy are not mistaken for its parts.
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
            await VerifyAsync(replica, copy.Destination, written, steps, cancellationToken);
            // Changes are copied before the part is listed, because a listed part must be complete.
            await CopyChangesAsync(copy, cancellationToken);
            if (!await replica.Releases.AddAsync(copy.Destination, written, cancellationToken, isCopy: true))
            {
                throw new NotPossibleException(
                    $"release {release} was deleted from replica {replica.Name} during the copy: run the same command again");
            }
        }
        if (parts.Length == 0)
            await CopyChangesAsync(copy, cancellationToken);
        return rows;
    }

    /// <summary>Copies the ranges that were appended to since the last copy, then records them in the copy's change log.</summary>
    private async Task CopyChangesAsync(ReleaseCopy copy, CancellationToken cancellationToken)
    {
        var to = copy.Stores.Blobs;
        var log = new ChangeLog(to, copy.Destination);
        var isRecorded = await new ChangeLog(primary.Blobs, copy.Source).ProcessAsync(
            to, PasswordNames.Copied(copy.Destination), ChangesAtOnce, async changed =>
            {
                await Parallel.ForEachAsync(changed, Degree(BlobsAtOnce, cancellationToken), async (range, token) =>
                {
                    var blob = await primary.Blobs.ReadAsync(PasswordNames.Overlay(copy.Source, range.Mode, range.Prefix), null, token)
                        ?? throw new RangeMissingException(copy.Source);
                    await to.WriteAsync(
                        PasswordNames.Overlay(copy.Destination, range.Mode, range.Prefix),
                        PasswordContent.Range(blob.Bytes) with { Note = blob.Note }, IPasswordBlobs.AnyVersion, token);
                });
                // The changes are logged with the current time, so that the replica's readers treat them as new.
                foreach (var mode in changed.GroupBy(range => range.Mode, range => range.Prefix))
                    await log.AddAsync(mode.Key, [.. mode], time.GetUtcNow(), cancellationToken);
            }, cancellationToken);
        if (!isRecorded)
        {
            throw new NotPossibleException(
                $"release {copy.Source.Name} is being copied by another process: wait until that ends, then run the same command again");
        }
    }

    private async Task<string> CopyPacksAsync(ReleaseCopy copy, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var name = PasswordNames.Index(copy.Source, part.Mode);
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
        return (await copy.Stores.Blobs.WriteAsync(
            PasswordNames.Index(copy.Destination, part.Mode), PasswordContent.Binary(PackIndex.Make(part.Mode, packs)),
            IPasswordBlobs.AnyVersion,
            cancellationToken))!;
    }

    private async Task<string> CopyPackAsync(
        ReleaseCopy copy, HashMode mode, int pack, PackRecord record, CancellationToken cancellationToken)
    {
        var (from, to) = (PasswordNames.Pack(copy.Source, mode, pack), PasswordNames.Pack(copy.Destination, mode, pack));
        var existing = await copy.Stores.Blobs.FindAsync(to, cancellationToken);
        if (existing?.Length == record.Length)
        {
            var known = new PackStream(copy.Stores.Blobs, copy.Destination, to, record with { ETag = existing.ETag });
            if (await HaveSameBytesAsync(new PackStream(primary.Blobs, copy.Source, from, record), known, cancellationToken))
                return existing.ETag;
        }
        return (await copy.Stores.Blobs.UploadAsync(
            to, new PackStream(primary.Blobs, copy.Source, from, record), IPasswordBlobs.AnyVersion, cancellationToken))!;
    }

    private async Task<string> CopyBlobsAsync(ReleaseCopy copy, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var (to, list) = (copy.Stores.Blobs, PasswordNames.Present(copy.Destination, part.Backend, part.Mode));
        // A listing returns 5,000 names for the price of one existence check, and in a first run most blobs are missing.
        var known = await to.ListAsync(list[..(list.LastIndexOf('/') + 1)], cancellationToken)
            .ToHashSetAsync(cancellationToken: cancellationToken);
        return await CopyRangesAsync(copy, part, BlobsAtOnce, async (prefix, token) =>
        {
            var name = PasswordNames.Range(copy.Destination, part.Mode, prefix);
            var blob = await primary.Blobs.ReadAsync(PasswordNames.Range(copy.Source, part.Mode, prefix), null, token)
                ?? throw new RangeMissingException(copy.Source);
            if (!known.Contains(name) || await to.ReadAsync(name, null, token) is not { } existing
                || !existing.Bytes.Span.SequenceEqual(blob.Bytes.Span))
                await to.WriteAsync(name, PasswordContent.Range(blob.Bytes), IPasswordBlobs.AnyVersion, token);
        }, steps, cancellationToken);
    }

    private async Task<string> CopyTableAsync(ReleaseCopy copy, ReleasePart part, StepProgress steps, CancellationToken cancellationToken)
    {
        var (from, to) = (PasswordNames.Table(copy.Source, part.Mode), PasswordNames.Table(copy.Destination, part.Mode));
        var isNew = await copy.Stores.Tables.CreateAsync(to, cancellationToken);
        return await CopyRangesAsync(copy, part, PartitionsAtOnce, async (prefix, token) =>
        {
            var partition = HashModes.PrefixText(prefix);
            var rows = await primary.Tables.ReadAsync(from, partition, token);
            if (isNew || !rows.SequenceEqual(await copy.Stores.Tables.ReadAsync(to, partition, token)))
                await copy.Stores.Tables.WriteAsync(to, partition, rows, token);
        }, steps, cancellationToken);
    }

    private async Task<string> CopyRangesAsync(
        ReleaseCopy copy, ReleasePart part, int maxConcurrency, Func<int, CancellationToken, Task> copyRange, StepProgress steps,
        CancellationToken cancellationToken)
    {
        var name = PasswordNames.Present(copy.Source, part.Backend, part.Mode);
        var list = await ReleaseReader.ReadListAsync(primary.Blobs, name, part, cancellationToken);
        var present = PresentRanges.Parse(part.Mode, list);
        int[] prefixes = [.. Enumerable.Range(0, PasswordNames.Groups).SelectMany(present.OfGroup)];
        var done = 0;
        await Parallel.ForEachAsync(prefixes, Degree(maxConcurrency, cancellationToken), async (prefix, token) =>
        {
            await copyRange(prefix, token);
            // A range's row count is known only after it is read back. Progress assumes an even distribution, because hashes are uniform.
            var number = Interlocked.Increment(ref done);
            steps.Add(ImportStepKind.Write, (part.Rows * number / prefixes.Length) - (part.Rows * (number - 1) / prefixes.Length));
        });
        return (await copy.Stores.Blobs.WriteAsync(
            PasswordNames.Present(copy.Destination, part.Backend, part.Mode), PasswordContent.Binary(list), IPasswordBlobs.AnyVersion,
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
                $"release {release.Name}: the copy in {part.Backend.Name()} of replica {replica.Name} differs from the original (expected "
                + $"{part.Rows} {part.Mode.Name()} hashes with checksum {part.Sum}, found {total.Rows} with {total.Text}); it is not "
                + "listed there. Run the same command again to copy the differing ranges; if it still differs, delete the copy: 'hibp "
                + $"passwords delete {release.Name}' with HIBP_STORAGE set to that account");
        }
    }

    private static async Task<bool> HaveSameBytesAsync(PackStream left, PackStream right, CancellationToken cancellationToken)
    {
        var (leftBytes, rightBytes) = (new byte[1 << 20], new byte[1 << 20]);
        while (true)
        {
            var length = await left.ReadAtLeastAsync(leftBytes, leftBytes.Length, throwOnEndOfStream: false, cancellationToken);
            var same = await right.ReadAtLeastAsync(rightBytes, rightBytes.Length, throwOnEndOfStream: false, cancellationToken) == length
                && leftBytes.AsSpan(0, length).SequenceEqual(rightBytes.AsSpan(0, length));
            if (!same || length == 0)
                return same;
        }
    }

    private static ParallelOptions Degree(int maxConcurrency, CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = maxConcurrency, CancellationToken = cancellationToken };

    /// <param name="Stores">The replica's stores.</param>
    private sealed record ReleaseCopy(ReleaseKey Source, PasswordStores Stores, ReleaseKey Destination);
}

/// <summary>Reads a pack in windows of 4 MiB, from the version that its record names.</summary>
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
