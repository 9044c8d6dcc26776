using System.IO.Hashing;
using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Releases;

internal sealed class PackSource(IPasswordBlobs blobs, ReleaseKey release, ReleasePart part, PackIndex index) : IRangeSource
{
    // Many gzip members per request, with little memory.
    private const int WindowBytes = 4 << 20;

    public static async Task<PackSource> OpenAsync(
        IPasswordBlobs blobs, ReleaseKey release, ReleasePart part, CancellationToken cancellationToken)
    {
        var blob = await ReleaseReader.ReadListAsync(blobs, PasswordNames.Index(release, part.Mode), part, cancellationToken);
        return new PackSource(blobs, release, part, PackIndex.Parse(part.Mode, blob));
    }

    public DateTimeOffset CompletedAt => part.CompletedAt;

    public async Task<RangeContent?> ReadAsync(int prefix, CancellationToken cancellationToken)
    {
        var (offset, length) = index.PlaceOf(prefix);
        if (length == 0)
            return null;
        var pack = prefix / PasswordNames.RangesOfGroup;
        var read = await ReadPartAsync(blobs, release, part.Mode, pack, index.ETagOf(pack), offset, length, cancellationToken);
        return Content(release, part.Mode, read.Bytes, index.ChecksumOf(prefix), read.LastModified, read.Md5);
    }

    public IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadGroupAsync(int group, CancellationToken cancellationToken) =>
        ReadPackAsync(blobs, release, part.Mode, group, index.RecordOf(group), cancellationToken);

    public static async IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadPackAsync(
        IPasswordBlobs blobs, ReleaseKey release, HashMode mode, int pack, PackRecord record,
        [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        for (var first = 0; first < PasswordNames.RangesOfGroup;)
        {
            var (start, length) = record.PlaceOf(first);
            var next = first + 1;
            while (next < PasswordNames.RangesOfGroup && length + record.PlaceOf(next).Length <= WindowBytes)
                length += record.PlaceOf(next++).Length;
            if (length > 0)
            {
                var read = await ReadPartAsync(blobs, release, mode, pack, record.ETag, start, length, cancellationToken);
                for (var range = first; range < next; range++)
                {
                    var place = record.PlaceOf(range);
                    if (place.Length > 0)
                    {
                        var member = read.Bytes.Slice((int)(place.Offset - start), place.Length);
                        yield return (
                            (pack * PasswordNames.RangesOfGroup) + range,
                            Content(release, mode, member, record.ChecksumOf(range), read.LastModified, null));
                    }
                }
            }
            first = next;
        }
    }

    private static async Task<PasswordBlob> ReadPartAsync(
        IPasswordBlobs blobs, ReleaseKey release, HashMode mode, int pack, string etag, long offset, int length,
        CancellationToken cancellationToken) =>
        await blobs.ReadPartAsync(PasswordNames.Pack(release, mode, pack), etag, offset, length, cancellationToken)
        ?? throw new RangeMissingException(release);

    private static RangeContent Content(
        ReleaseKey release, HashMode mode, ReadOnlyMemory<byte> bytes, uint checksum, DateTimeOffset lastModified, byte[]? md5) =>
        Crc32.HashToUInt32(bytes.Span) == checksum ? RangeContent.OfGzip(mode, bytes, lastModified, md5)
        : throw new StoreMismatchException($"a pack of release {release.Name} is damaged: a range's checksum differs from the index; "
            + "restore the blob, or serve another release: hibp passwords switch");
}
