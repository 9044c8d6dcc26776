using System.Text.Json;

namespace HibpIngest.Passwords.Releases;

internal static class ReleaseReader
{
    /// <returns>Null if nothing was switched to yet.</returns>
    public static async Task<(CurrentRelease? Current, string? ETag)> ReadCurrentAsync(
        IPasswordBlobs blobs, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.Current, null, cancellationToken);
        return blob is null ? (null, null) : (ParseCurrent(blob.Bytes), blob.ETag);
    }

    /// <summary>Reads the document of a name, also of a release that is being imported or deleted.</summary>
    /// <returns>The release and the document's version; null: there is no document.</returns>
    public static async Task<(PasswordRelease? Release, string? ETag)> ReadAsync(
        IPasswordBlobs blobs, string name, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.Release(name), null, cancellationToken);
        return blob is null ? (null, null) : (
            Parse(
                blob.Bytes, PasswordJson.Default.PasswordRelease,
                one => one.Version is PasswordRelease.DocumentVersion or PasswordRelease.VersionWithId),
            blob.ETag);
    }

    /// <summary>Reads a release that has a part.</summary>
    /// <returns>Null if there is none of that name.</returns>
    public static async Task<PasswordRelease?> FindAsync(IPasswordBlobs blobs, string name, CancellationToken cancellationToken) =>
        (await ReadAsync(blobs, name, cancellationToken)).Release is { Parts.Count: > 0 } release ? release : null;

    /// <param name="replaces">The version that it replaces; null: there is none.</param>
    /// <returns>The document's new version; null if another version is there by now, and nothing was written.</returns>
    public static Task<string?> WriteAsync(
        IPasswordBlobs blobs, PasswordRelease release, string? replaces, CancellationToken cancellationToken) => blobs.WriteAsync(
            PasswordNames.Release(release.Name),
            PasswordContent.Json(JsonSerializer.SerializeToUtf8Bytes(release, PasswordJson.Default.PasswordRelease)), replaces,
            cancellationToken);

    public static CurrentRelease ParseCurrent(ReadOnlyMemory<byte> bytes) =>
        Parse(bytes, PasswordJson.Default.CurrentRelease, one => one.Version == PasswordRelease.DocumentVersion);

    public static async Task<IRangeSource> OpenAsync(
        PasswordStores stores, ReleaseKey release, ReleasePart part, CancellationToken cancellationToken)
    {
        if (part.Backend == PasswordBackend.Pack)
            return await PackSource.OpenAsync(stores.Blobs, release, part, cancellationToken);
        var name = PasswordNames.Present(release, part.Backend, part.Mode);
        var present = PresentRanges.Parse(part.Mode, await ReadListAsync(stores.Blobs, name, part, cancellationToken));
        return part.Backend == PasswordBackend.Blob
            ? new BlobSource(stores.Blobs, release, part, present)
            : new TableSource(stores.Tables, release, part, present);
    }

    /// <summary>Reads a part's index or list of ranges, in exactly the version that the release names.</summary>
    public static async Task<ReadOnlyMemory<byte>> ReadListAsync(
        IPasswordBlobs blobs, string name, ReleasePart part, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob && blob.ETag == part.ETag
            ? blob.Bytes : throw new StoreMismatchException($"{name} is not there, or is not the one that its release names");

    private static T Parse<T>(
        ReadOnlyMemory<byte> bytes, System.Text.Json.Serialization.Metadata.JsonTypeInfo<T> type, Func<T, bool> isKnown)
        where T : class
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
        throw new StoreMismatchException(
            "a document of the passwords' container can't be read: a newer program or something else wrote it");
    }
}
