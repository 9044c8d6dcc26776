using System.Buffers.Text;
using System.Runtime.InteropServices;

namespace HibpIngest.Passwords.Appends;

/// <summary>The ranges of a release that were added to: a blob each, complete, which replaces the range of any back end.</summary>
internal sealed class RangeOverlays(IPasswordBlobs blobs, ReleaseKey release)
{
    // Each lost race is another writer's success.
    private const int MaxTries = 100;

    public async Task<RangeContent> ReadAsync(HashMode mode, int prefix, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(PasswordNames.Overlay(release, mode, prefix), null, cancellationToken) is { } blob
            ? RangeContent.OfGzip(mode, blob.Bytes, blob.LastModified, blob.Md5) : throw new RangeMissingException(release);

    /// <summary>Adds a transaction's hashes of one range. Does nothing if they were added before.</summary>
    /// <param name="listUnsettled">Lists the transactions whose messages may be delivered again. Called after the range was read, if some
    /// of its ids must be dropped: a transaction that is in the range is in a list that is made later.</param>
    public async Task AddAsync(
        IRangeSource source, HashMode mode, int prefix, ReadOnlyMemory<HashCount> rows, Guid transaction,
        Func<Task<IReadOnlySet<Guid>>> listUnsettled, CancellationToken cancellationToken)
    {
        var name = PasswordNames.Overlay(release, mode, prefix);
        for (var attempt = 0; attempt < MaxTries; attempt++)
        {
            var blob = await blobs.ReadAsync(name, null, cancellationToken);
            var applied = AppliedTransactions.Parse(blob?.Note);
            if (applied.Contains(transaction))
                return;
            if (applied.Count >= AppliedTransactions.MaxIds)
                applied = applied.Among(await listUnsettled());
            if (applied.Count >= AppliedTransactions.MaxIds)
            {
                throw new UnavailableException($"a range has had {AppliedTransactions.MaxIds} transactions within the hour; it "
                    + "accepts more when the first of them are done");
            }
            var content = blob is null ? await source.ReadAsync(prefix, cancellationToken)
                : RangeContent.OfGzip(mode, blob.Bytes, blob.LastModified);
            var changed = PasswordContent.Range(Merge(mode, prefix, content, rows.Span)) with { Note = applied.With(transaction).Text };
            if (await blobs.WriteAsync(name, changed, blob?.ETag, cancellationToken) is not null)
                return;
        }
        throw new UnavailableException($"a range of appended hashes: other processes changed it in each of {MaxTries} attempts");
    }

    private static byte[] Merge(HashMode mode, int prefix, RangeContent? content, ReadOnlySpan<HashCount> added)
    {
        var rows = new List<HashCount>();
        if (content is not null)
            RangeText.Read(mode, prefix, content.For(acceptsGzip: false).Bytes.Span, rows);
        rows.AddRange(added);
        AppendRows.Sort(rows);
        var text = new byte[RangeText.MaxBytes(mode, rows.Count)];
        return RangeGzip.Compress(text.AsSpan(0, RangeText.Write(mode, CollectionsMarshal.AsSpan(rows), text)));
    }
}

/// <summary>The base64url ids (22 characters) of the transactions that a range contains, oldest first; written together with it.</summary>
internal readonly record struct AppliedTransactions(string Text)
{
    /// <summary>A blob's metadata is limited to 8 KB, as are the headers of many servers.</summary>
    public const int MaxIds = 300;

    private const int IdChars = 22;

    public int Count => Text.Length / IdChars;

    public static AppliedTransactions Parse(string? note) => note is null ? new("") : note.Length % IdChars == 0 ? new(note)
        : throw new StoreMismatchException(
            "the hashes appended to a range can't be read: their blob is damaged or was written by another program");

    private IEnumerable<string> Ids => Text.Chunk(IdChars).Select(id => new string(id));

    public bool Contains(Guid id) => Ids.Contains(Encode(id));

    public AppliedTransactions With(Guid id) => new(Text + Encode(id));

    public AppliedTransactions Among(IEnumerable<Guid> others)
    {
        var known = others.Select(Encode).ToHashSet();
        return new(string.Concat(Ids.Where(known.Contains)));
    }

    private static string Encode(Guid id)
    {
        Span<byte> bytes = stackalloc byte[16];
        id.TryWriteBytes(bytes);
        return Base64Url.EncodeToString(bytes);
    }
}
