using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Releases;

/// <param name="read">Returns null if the range is missing although it is listed.</param>
internal sealed class SingleRangeSource(
    ReleaseKey release, ReleasePart part, PresentRanges present, Func<int, CancellationToken, Task<RangeContent?>> read) : IRangeSource
{
    private const int MaxConcurrency = 16;

    public DateTimeOffset CompletedAt => part.CompletedAt;

    public static SingleRangeSource OfBlobs(IPasswordBlobs blobs, ReleaseKey release, ReleasePart part, PresentRanges present) =>
        new(release, part, present, async (prefix, token) =>
            await blobs.ReadAsync(PasswordNames.Range(release, part.Mode, prefix), null, token) is { } blob
                ? RangeContent.OfGzip(part.Mode, blob.Bytes, blob.LastModified, blob.Md5) : null);

    public static SingleRangeSource OfTable(IPasswordTables tables, ReleaseKey release, ReleasePart part, PresentRanges present) =>
        new(release, part, present, async (prefix, token) =>
        {
            var rows = await tables.ReadAsync(PasswordNames.Table(release, part.Mode), HashModes.PrefixText(prefix), token);
            return rows.Count == 0 ? null : RangeContent.OfText(part.Mode, RangeText.Of(part.Mode, rows), part.CompletedAt);
        });

    public async Task<RangeContent?> ReadAsync(int prefix, CancellationToken cancellationToken) =>
        present[prefix] ? await read(prefix, cancellationToken) ?? throw new RangeMissingException(release) : null;

    public async IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadGroupAsync(
        int group, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        foreach (var some in present.OfGroup(group).Chunk(MaxConcurrency))
        {
            var contents = await Task.WhenAll(some.Select(prefix => ReadAsync(prefix, cancellationToken)));
            for (var i = 0; i < some.Length; i++)
                yield return (some[i], contents[i]!);
        }
    }
}
