using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.AccountLog;

/// <summary>Names of the blobs of the account log (docs/account-log.md): a folder a load.</summary>
public static class LogNames
{
    /// <summary>Ends the name of a segment.</summary>
    public const string SegmentExtension = ".alog";

    /// <summary>What is to be done with the load that the folder is of.</summary>
    public const string Removed = "removed.json";

    /// <summary>The first document of a load.</summary>
    public const string Load = "load.json";

    private const string Successor = "load.";
    private const string Json = ".json";

    private const int NumberLength = 10;
    private const int HashBytes = 8;

    /// <summary>
    /// Folder of a load, with the slash at its end. A database that was restored from a backup may give a load's number
    /// again: what tells the two apart is part of the name.
    /// </summary>
    public static string Folder(LoadLogEntry load) => Folder(load.Load, load.Blob, load.Generation, load.StartedAt);

    /// <summary>Folder of the load that a document tells of.</summary>
    public static string Folder(LoadDocument load) =>
        Folder(load.Load, new BlobVersion(load.Blob, load.ETag), load.Generation, load.StartedAt);

    private static string Folder(long load, BlobVersion blob, int generation, DateTimeOffset startedAt)
    {
        var facts = string.Create(
            CultureInfo.InvariantCulture, $"{blob.Name}\n{blob.ETag}\n{generation}\n{startedAt.ToUnixTimeMilliseconds()}");
        var hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(facts)), 0, HashBytes);
        return $"{Folders(load)}{hash}/";
    }

    /// <summary>Whether it is named as a load's folder is: others are none of ours.</summary>
    public static bool IsFolder(string folder) =>
        folder.Length == NumberLength + 1 + (2 * HashBytes) + 1 && folder[NumberLength] == '-' && folder[^1] == '/'
        && folder.AsSpan(0, NumberLength).IndexOfAnyExceptInRange('0', '9') < 0
        && folder.AsSpan((NumberLength + 1)..^1).IndexOfAnyExcept("0123456789abcdef") < 0;

    /// <summary>How the folders of all loads of a number begin.</summary>
    public static string Folders(long load) => string.Create(CultureInfo.InvariantCulture, $"{load:D10}-");

    /// <summary>The load's number, as a folder's name tells it; 0: it doesn't.</summary>
    public static long LoadOf(string folder) =>
        folder.IndexOf('-') is > 0 and var end
            && long.TryParse(folder[..end], NumberStyles.None, CultureInfo.InvariantCulture, out var load)
        ? load : 0;

    /// <summary>A segment of it, by its first position.</summary>
    public static string Segment(string folder, long first) =>
        string.Create(CultureInfo.InvariantCulture, $"{folder}{first:D12}{SegmentExtension}");

    /// <summary>A later document of it, by the version that it tells.</summary>
    public static string Document(string folder, long version) =>
        string.Create(CultureInfo.InvariantCulture, $"{folder}{Successor}{version:D12}{Json}");

    /// <summary>The folder that a blob is in, with its slash; null where it is in none.</summary>
    public static string? FolderOf(string name) => name.IndexOf('/') is > 0 and var end ? name[..(end + 1)] : null;

    /// <summary>The version that a document of a load tells, 0 for the first one; null: it is no such document.</summary>
    /// <param name="name">Of the blob, without its folder.</param>
    public static long? VersionOf(string name) =>
        name == Load ? 0
        : name.StartsWith(Successor, StringComparison.Ordinal) && name.EndsWith(Json, StringComparison.Ordinal)
            && long.TryParse(name[Successor.Length..^Json.Length], NumberStyles.None, CultureInfo.InvariantCulture, out var version)
        ? version : null;
}
