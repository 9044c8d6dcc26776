namespace HibpIngest.Journal.Manifest;

/// <summary>Limits of the journal's documents, which are untrusted: anyone who may write to the container may have written them.</summary>
public static class DocumentLimits
{
    /// <summary>Maximum of a load's and a mark's number: a row's key in SQLite has 23 bits for its load.</summary>
    public const int MaxId = (1 << 23) - 1;

    /// <summary>Maximum version: documents' names have as many digits.</summary>
    public const long MaxVersion = 999_999_999_999;

    /// <summary>Maximum size of a document: 1 MiB of metadata, and over 200,000 segments of about 70 bytes.</summary>
    internal const int MaxBytes = 16 << 20;

    // Lengths of the SQL columns (docs/tables.md); the first is also Azure's limit for a blob's name.
    private const int BlobLength = 1024;
    private const int ETagLength = 256;

    private const int FirstYear = 1970;
    private const int LastYear = 9000;

    internal static string? FindFault(params ReadOnlySpan<DateTimeOffset> times)
    {
        foreach (var time in times)
        {
            if (time.UtcDateTime.Year is < FirstYear or > LastYear || time.Ticks % TimeSpan.TicksPerMillisecond != 0)
                return $"a time that is not in whole milliseconds of the years {FirstYear} to {LastYear}";
        }
        return null;
    }

    internal static string? FindFault(string breach, string blob, string etag)
    {
        if (breach is null || blob is not { Length: > 0 and <= BlobLength } || etag is not { Length: > 0 and <= ETagLength })
            return $"a missing breach, or a blob's name or ETag that isn't 1 to {BlobLength} or {ETagLength} characters";
        try
        {
            BreachName.Check(breach);
            BreachName.CheckBlob(blob);
            return null;
        }
        catch (BadInputException e)
        {
            return $"an invalid name: {e.Message}";
        }
    }
}
