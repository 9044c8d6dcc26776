using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>Reads what stands in a release, and opens it.</summary>
internal static class ReleaseReader
{
    /// <summary>What is served; null: nothing was switched to yet.</summary>
    public static async Task<(CurrentRelease? Current, string? ETag)> ReadCurrentAsync(
        IPasswordBlobs blobs, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.Current, null, cancellationToken);
        return blob is null ? (null, null) : (ParseCurrent(blob.Bytes), blob.ETag);
    }

    /// <summary>What a release holds; null: there is none of that name.</summary>
    public static async Task<(PasswordRelease? Release, string? ETag)> ReadAsync(
        IPasswordBlobs blobs, string release, CancellationToken cancellationToken)
    {
        var blob = await blobs.ReadAsync(PasswordNames.Release(release), null, cancellationToken);
        return blob is null ? (null, null) : (Parse(blob.Bytes, PasswordJson.Default.PasswordRelease, one => one.Version), blob.ETag);
    }

    public static CurrentRelease ParseCurrent(ReadOnlyMemory<byte> bytes) =>
        Parse(bytes, PasswordJson.Default.CurrentRelease, one => one.Version);

    /// <summary>Opens a part of a release for reading.</summary>
    public static async Task<IRangeSource> OpenAsync(
        PasswordStores stores, string release, ReleasePart part, CancellationToken cancellationToken)
    {
        if (part.Backend == PasswordBackend.Pack)
            return await PackSource.OpenAsync(stores.Blobs, release, part, cancellationToken);
        var name = PasswordNames.Present(release, part.Backend, part.Mode);
        var present = PresentRanges.Parse(part.Mode, await ReadListAsync(stores.Blobs, name, part, cancellationToken));
        return part.Backend == PasswordBackend.Blob
            ? new BlobSource(stores.Blobs, release, part, present)
            : new TableSource(stores.Tables, release, part, present);
    }

    /// <summary>The part's index, or its list of ranges: the very version that the release names.</summary>
    public static async Task<ReadOnlyMemory<byte>> ReadListAsync(
        IPasswordBlobs blobs, string name, ReleasePart part, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob && blob.ETag == part.ETag
            ? blob.Bytes : throw new StoreMismatchException($"{name} is not there, or is not the one that its release names");

    private static T Parse<T>(
        ReadOnlyMemory<byte> bytes, System.Text.Json.Serialization.Metadata.JsonTypeInfo<T> type, Func<T, int> version)
        where T : class
    {
        try
        {
            if (JsonSerializer.Deserialize(bytes.Span, type) is { } document && version(document) == PasswordRelease.DocumentVersion)
                return document;
        }
        catch (JsonException)
        {
            // Said below.
        }
        throw new StoreMismatchException(
            "a document of the passwords' container can't be read: a newer program or something else wrote it");
    }
}
