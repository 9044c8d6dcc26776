using System.Runtime.InteropServices;

namespace HibpIngest.Passwords.Appends;

/// <summary>
/// The ranges of a release that were added to since its import. Each is a blob of its own, complete and ready to be sent, which replaces
/// the range in the release's back ends. Those never change, so that what was verified stays verified, and an addition is one write
/// whichever back ends the release is in.
/// </summary>
internal sealed class RangeOverlays(IPasswordBlobs blobs, ReleaseKey release)
{
    // Each lost race is another writer's success.
    private const int MaxTries = 100;

    /// <summary>Reads a range that was added to.</summary>
    /// <exception cref="RangeMissingException">It was not added to, or the release was deleted.</exception>
    public async Task<RangeContent> ReadAsync(HashMode mode, int prefix, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(PasswordNames.Overlay(release, mode, prefix), null, cancellationToken) is { } blob
            ? RangeContent.OfGzip(mode, blob.Bytes, blob.LastModified, blob.Md5) : throw new RangeMissingException(release);

    /// <summary>Adds a transaction's hashes of one range. Does nothing if they were added before.</summary>
    /// <param name="source">The release as it was imported.</param>
    /// <param name="rows">Sorted and distinct.</param>
    /// <param name="unsettled">Lists the transactions whose messages may still be delivered again. Called if a range contains so many
    /// transactions that some ids must be dropped, and after the range was read: a transaction that is in the range is in a list that is
    /// made later.</param>
    /// <exception cref="StoreUnavailableException">The hashes can't be added now.</exception>
    public async Task AddAsync(
        IRangeSource source, HashMode mode, int prefix, ReadOnlyMemory<HashCount> rows, Guid transaction,
        Func<Task<IReadOnlySet<Guid>>> unsettled, CancellationToken cancellationToken)
    {
        var name = PasswordNames.Overlay(release, mode, prefix);
        for (var attempt = 0; attempt < MaxTries; attempt++)
        {
            var blob = await blobs.ReadAsync(name, null, cancellationToken);
            var applied = AppliedTransactions.Parse(blob?.Note);
            if (applied.Contains(transaction))
                return;
            if (applied.Count >= AppliedTransactions.Most)
                applied = applied.Among(await unsettled());
            if (applied.Count >= AppliedTransactions.Most)
            {
                throw new StoreUnavailableException($"a range has taken {AppliedTransactions.Most} transactions within the hour, and takes "
                    + "more when the first are settled");
            }
            var content = blob is null ? await source.ReadAsync(prefix, cancellationToken)
                : RangeContent.OfGzip(mode, blob.Bytes, blob.LastModified);
            var changed = PasswordContent.Range(Merge(mode, prefix, content, rows.Span)) with { Note = applied.With(transaction).Text };
            if (await blobs.WriteAsync(name, changed, blob?.ETag, cancellationToken) is not null)
                return;
        }
        throw new StoreUnavailableException("a range is added to by others all the time");
    }

    private static byte[] Merge(HashMode mode, int prefix, RangeContent? content, ReadOnlySpan<HashCount> added)
    {
        var there = new List<HashCount>();
        if (content is not null)
            RangeText.Read(mode, prefix, content.For(takesGzip: false).Bytes.Span, there);
        var merged = new List<HashCount>(there.Count + added.Length);
        var (one, other) = (0, 0);
        while (one < there.Count || other < added.Length)
        {
            if (other == added.Length || (one < there.Count && there[one].IsBefore(added[other])))
                merged.Add(there[one++]);
            else if (one == there.Count || added[other].IsBefore(there[one]))
                merged.Add(added[other++]);
            else
                merged.Add(there[one++].Plus(added[other++]));
        }
        var text = new byte[RangeText.MaxBytes(mode, merged.Count)];
        return RangeGzip.Compress(text.AsSpan(0, RangeText.Write(mode, CollectionsMarshal.AsSpan(merged), text)));
    }
}
