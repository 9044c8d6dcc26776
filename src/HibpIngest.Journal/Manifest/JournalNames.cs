namespace HibpIngest.Journal.Manifest;

/// <summary>Names of the journal's blobs (docs/journal.md): one folder per load.</summary>
public static class JournalNames
{
    public const string SegmentExtension = ".alog";

    /// <summary>The document that marks a load as removed.</summary>
    public const string Removed = "removed.json";

    public const string Load = "load.json";

    private const string Successor = "load.";
    private const string Json = ".json";

    private const int NumberLength = 10;
    private const int HashBytes = 8;

    /// <summary>
    /// Returns a load's folder, with the slash at the end. It holds a hash of the blob, generation and start, because a database restored
    /// from a backup may reuse a load's number.
    /// </summary>
    public static string Folder(JournalEntry load) => Folder(load.Load, load.Blob, load.Generation, load.StartedAt);

    public static string Folder(JournalLoadDocument load) =>
        Folder(new(load.Load), new BlobVersion(load.Blob, load.ETag), load.Generation, load.StartedAt);

    private static string Folder(LoadId load, BlobVersion blob, int generation, DateTimeOffset startedAt)
    {
        var facts = string.Create(
            CultureInfo.InvariantCulture, $"{blob.Name}\n{blob.ETag}\n{generation}\n{startedAt.ToUnixTimeMilliseconds()}");
        var hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(facts)), 0, HashBytes);
        return $"{Folders(load)}{hash}/";
    }

    /// <summary>True if the name has the form of a load's folder; others are ignored.</summary>
    public static bool IsFolder(string folder) =>
        folder.Length == NumberLength + 1 + (2 * HashBytes) + 1 && folder[NumberLength] == '-' && folder[^1] == '/'
        && folder.AsSpan(0, NumberLength).IndexOfAnyExceptInRange('0', '9') < 0
        && folder.AsSpan((NumberLength + 1)..^1).IndexOfAnyExcept("0123456789abcdef") < 0;

    /// <summary>Returns the common prefix of the folders of all loads with a number.</summary>
    public static string Folders(LoadId load) => string.Create(CultureInfo.InvariantCulture, $"{load.Value:D10}-");

    /// <returns>The load's number in a folder's name; 0: there is none.</returns>
    public static LoadId LoadOf(string folder) =>
        folder.IndexOf('-') is > 0 and var end
            && long.TryParse(folder[..end], NumberStyles.None, CultureInfo.InvariantCulture, out var load)
        ? new(load) : default;

    /// <param name="first">Position of the segment's first row.</param>
    public static string Segment(string folder, long first) =>
        string.Create(CultureInfo.InvariantCulture, $"{folder}{first:D12}{SegmentExtension}");

    /// <summary>Returns the name of a later document of a load.</summary>
    public static string Document(string folder, long version) =>
        string.Create(CultureInfo.InvariantCulture, $"{folder}{Successor}{version:D12}{Json}");

    /// <returns>The folder of a blob, with its slash; null if it is in none.</returns>
    public static string? FolderOf(string name) => name.IndexOf('/') is > 0 and var end ? name[..(end + 1)] : null;

    /// <returns>The version of a load's document, 0 for the first one; null if it is no such document.</returns>
    /// <param name="name">The blob's name without its folder.</param>
    public static long? VersionOf(string name) =>
        name == Load ? 0
        : name.StartsWith(Successor, StringComparison.Ordinal) && name.EndsWith(Json, StringComparison.Ordinal)
            && long.TryParse(name[Successor.Length..^Json.Length], NumberStyles.None, CultureInfo.InvariantCulture, out var version)
        ? version : null;
}
