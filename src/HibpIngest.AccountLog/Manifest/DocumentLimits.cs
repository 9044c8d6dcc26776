using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.AccountLog;

/// <summary>What the log's documents may hold at most: whoever may write to the container can write anything into them.</summary>
public static class DocumentLimits
{
    /// <summary>The highest load and the highest mark: a row's key in SQLite has 23 bits for its load.</summary>
    public const int Ids = (1 << 23) - 1;

    /// <summary>The highest version: as many digits as names of documents have.</summary>
    public const long Versions = 999_999_999_999;

    /// <summary>Bytes of a document: metadata has 1 MiB at most, a segment some 70 bytes.</summary>
    public const int Bytes = 16 << 20;

    // Of columns in SQL (docs/tables.md of a blob's name: as Azure has it).
    private const int BlobLength = 1024;
    private const int ETagLength = 256;

    private const int FirstYear = 1970;
    private const int LastYear = 9000;

    internal static string? FindFault(params ReadOnlySpan<DateTimeOffset> times)
    {
        foreach (var time in times)
        {
            if (time.UtcDateTime.Year is < FirstYear or > LastYear || time.Ticks % TimeSpan.TicksPerMillisecond != 0)
                return $"of a time that is not in whole milliseconds of the years {FirstYear} to {LastYear}";
        }
        return null;
    }

    internal static string? FindFault(string breach, string blob, string etag)
    {
        if (breach is null || blob is not { Length: > 0 and <= BlobLength } || etag is not { Length: > 0 and <= ETagLength })
            return "of no breach, archive or ETag";
        try
        {
            BreachName.Check(breach);
            BreachName.CheckBlob(blob);
            return null;
        }
        catch (BadInputException e)
        {
            return $"of a name that is none: {e.Message}";
        }
    }
}
