using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Releases;

/// <summary>Ranges that are stored one by one, as blobs or as rows of a table.</summary>
internal abstract class SingleRangeSource(ReleaseKey release, ReleasePart part, PresentRanges present) : IRangeSource
{
    // Concurrent reads when a group is read as a whole.
    private const int AtOnce = 16;

    public DateTimeOffset CompletedAt => Part.CompletedAt;

    protected ReleasePart Part => part;

    protected ReleaseKey Release => release;

    public async Task<RangeContent?> ReadAsync(int prefix, CancellationToken cancellationToken) =>
        present[prefix] ? await ReadPresentAsync(prefix, cancellationToken) ?? throw new RangeMissingException(release) : null;

    public async IAsyncEnumerable<(int Prefix, RangeContent Content)> ReadGroupAsync(
        int group, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        foreach (var some in present.OfGroup(group).Chunk(AtOnce))
        {
            var contents = await Task.WhenAll(some.Select(prefix => ReadAsync(prefix, cancellationToken)));
            for (var i = 0; i < some.Length; i++)
                yield return (some[i], contents[i]!);
        }
    }

    /// <returns>Null if the range is missing although it is listed.</returns>
    protected abstract Task<RangeContent?> ReadPresentAsync(int prefix, CancellationToken cancellationToken);
}

/// <summary>One blob per range.</summary>
internal sealed class BlobSource(IPasswordBlobs blobs, ReleaseKey release, ReleasePart part, PresentRanges present)
    : SingleRangeSource(release, part, present)
{
    protected override async Task<RangeContent?> ReadPresentAsync(int prefix, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(PasswordNames.Range(Release, Part.Mode, prefix), null, cancellationToken) is { } blob
            ? RangeContent.OfGzip(Part.Mode, blob.Bytes, blob.LastModified, blob.Md5) : null;
}

/// <summary>One entity per hash, formatted as text for each read.</summary>
internal sealed class TableSource(IPasswordTables tables, ReleaseKey release, ReleasePart part, PresentRanges present)
    : SingleRangeSource(release, part, present)
{
    protected override async Task<RangeContent?> ReadPresentAsync(int prefix, CancellationToken cancellationToken)
    {
        var rows = await tables.ReadAsync(PasswordNames.Table(Release, Part.Mode), HashModes.PrefixText(prefix), cancellationToken);
        return rows.Count == 0 ? null : RangeContent.OfText(Part.Mode, RangeText.Of(Part.Mode, rows), CompletedAt);
    }
}
