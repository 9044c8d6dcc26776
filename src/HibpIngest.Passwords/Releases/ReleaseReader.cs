using System.Text.Json.Serialization.Metadata;

namespace HibpIngest.Passwords.Releases;

internal static class ReleaseReader
{
    public static async Task<(CurrentRelease? Current, string? ETag)> ReadCurrentAsync(
        IPasswordBlobs blobs, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.Current, null, cancellationToken);
        return blob is null ? (null, null) : (ParseCurrent(blob.Bytes), blob.ETag);
    }

    /// <summary>Reads a release's document, even while it is being imported or deleted.</summary>
    public static async Task<(PasswordRelease? Release, string? ETag)> ReadAsync(
        IPasswordBlobs blobs, string name, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.Release(name), null, cancellationToken);
        return blob is null ? (null, null) : (Parse(
            blob.Bytes, PasswordJson.Default.PasswordRelease,
            release => release.Version is PasswordRelease.DocumentVersion or PasswordRelease.VersionWithId,
            PasswordNames.Release(name)), blob.ETag);
    }

    /// <returns>Null if the release doesn't exist, or has no parts: it is being imported or deleted.</returns>
    public static async Task<PasswordRelease?> FindAsync(IPasswordBlobs blobs, string name, CancellationToken cancellationToken) =>
        (await ReadAsync(blobs, name, cancellationToken)).Release is { Parts.Count: > 0 } release ? release : null;

    public static Task<string?> WriteAsync(
        IPasswordBlobs blobs, PasswordRelease release, string? replaces, CancellationToken cancellationToken) =>
        blobs.WriteAsync(PasswordNames.Release(release.Name), release, PasswordJson.Default.PasswordRelease, replaces, cancellationToken);

    public static CurrentRelease ParseCurrent(ReadOnlyMemory<byte> bytes) =>
        Parse(bytes, PasswordJson.Default.CurrentRelease, it => it.Version == PasswordRelease.DocumentVersion, PasswordNames.Current);

    public static async Task<IRangeSource> OpenAsync(
        PasswordStores stores, ReleaseKey release, ReleasePart part, CancellationToken cancellationToken)
    {
        if (part.Backend == PasswordBackend.Pack)
            return await PackSource.OpenAsync(stores.Blobs, release, part, cancellationToken);
        var name = PasswordNames.Present(release, part.Backend, part.Mode);
        var present = PresentRanges.Parse(part.Mode, await ReadListAsync(stores.Blobs, name, part, cancellationToken));
        return part.Backend == PasswordBackend.Blob
            ? SingleRangeSource.OfBlobs(stores.Blobs, release, part, present)
            : SingleRangeSource.OfTable(stores.Tables, release, part, present);
    }

    /// <summary>Reads a part's index or list of ranges, in exactly the version that the release names.</summary>
    public static async Task<ReadOnlyMemory<byte>> ReadListAsync(
        IPasswordBlobs blobs, string name, ReleasePart part, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob && blob.ETag == part.ETag
            ? blob.Bytes
            : throw new StoreMismatchException($"{name} is missing, or not the version that its release lists: import the release again");

    /// <exception cref="StoreMismatchException">The document is malformed, or of an unknown version.</exception>
    public static T Parse<T>(ReadOnlyMemory<byte> bytes, JsonTypeInfo<T> type, Func<T, bool> isKnown, string subject)
    {
        try
        {
            if (JsonSerializer.Deserialize(bytes.Span, type) is { } document && isKnown(document))
                return document;
        }
        catch (JsonException)
        {
            // Reported below.
        }
        throw new StoreMismatchException($"passwords: {subject} can't be read: it is damaged, or a newer or another program wrote it");
    }

    /// <inheritdoc cref="IPasswordBlobs.WriteAsync"/>
    public static Task<string?> WriteAsync<T>(
        this IPasswordBlobs blobs, string name, T document, JsonTypeInfo<T> type, string? replaces, CancellationToken cancellationToken) =>
        blobs.WriteAsync(name, PasswordContent.Json(JsonSerializer.SerializeToUtf8Bytes(document, type)), replaces, cancellationToken);

    /// <returns>An empty list if the container doesn't exist, since nothing was ever imported.</returns>
    public static async Task<List<string>> ListAsync(IAsyncEnumerable<string> names, CancellationToken cancellationToken)
    {
        try
        {
            return await names.ToListAsync(cancellationToken);
        }
        catch (StoreMissingException)
        {
            return [];
        }
    }
}
