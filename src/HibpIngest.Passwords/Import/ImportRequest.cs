namespace HibpIngest.Passwords.Import;

public sealed record ImportRequest
{
    public required IReadOnlyList<ImportInput> Inputs { get; init; }

    public required ImportOptions Options { get; init; }

    public required IReadOnlyList<PasswordBackend> Into { get; init; }

    /// <summary>The release's name; if null, the newest release if it has none of these modes, else a new one named by the date.</summary>
    public string? Release { get; init; }

    /// <summary>Called once all parts are listed; again, if the import was interrupted before it completed.</summary>
    public Func<string, CancellationToken, Task>? WhenListed { get; init; }
}

public sealed record ImportedPasswords(string Release, IReadOnlyList<ReleasePart> Parts, ImportSummary Read);

/// <summary>The result of reading, over all runs.</summary>
/// <param name="Rows">Hashes read; duplicates count each time, and a password counts once for every mode.</param>
/// <param name="ZeroRows">Hashes skipped because their count is 0.</param>
public sealed record ImportSummary(ImportStart Start, long Lines, long Rows, long ZeroRows);

public enum ImportStart
{
    /// <summary>At the beginning: there was no earlier run.</summary>
    New = 0,

    /// <summary>At the last checkpoint of an interrupted run.</summary>
    Continues,

    /// <summary>Nowhere: an earlier run has read everything.</summary>
    AllRead,

    /// <summary>The import starts over: the inputs or options differ from those of the interrupted run.</summary>
    OtherInput,

    /// <summary>At the beginning: the interrupted run's files are damaged, or of another version.</summary>
    Damaged,

    /// <summary>Nowhere: a release lists all of it already.</summary>
    Listed,
}

/// <param name="Bytes">Bytes read from the files, compressed or not, including earlier runs.</param>
/// <param name="BytesInAll">Null if unknown.</param>
/// <param name="Rows">Hashes found so far; duplicates count each time.</param>
public readonly record struct ImportProgress(long Bytes, long? BytesInAll, long Lines, long Rows);

public sealed record ImportOptions
{
    /// <summary>512 MiB: what the smallest machines can spare.</summary>
    public const long DefaultMemoryBytes = 512L << 20;

    /// <summary>Below this, the runtime itself would take most of the memory.</summary>
    public const long MinMemoryBytes = 64L << 20;

    /// <summary>Folder for unsorted hashes: 28 bytes per line, 56 for passwords. Used by one import at a time.</summary>
    public required string WorkFolder { get; init; }

    /// <summary>Approximate limit of the process: an eighth buffers hashes, three eighths sort them, half is for the rest.</summary>
    public long MemoryBytes { get; init; } = DefaultMemoryBytes;

    /// <summary>Ignored for passwords.</summary>
    public HashMode Mode { get; init; } = HashMode.Sha1;

    /// <summary>True if the lines are passwords, which are hashed for every mode.</summary>
    public bool Plain { get; init; }

    public IReadOnlyList<HashMode> Modes => Plain ? HashModes.All : [Mode];

    // 512 MiB of text: about ten seconds of work, and more than one full chunk of each bucket.
    internal long CheckpointBytes { get; init; } = 512L << 20;

    internal int BlockBytes { get; init; } = 1 << 20;

    internal long BufferBytes => MemoryBytes / 8;

    internal long SortBytes => MemoryBytes / 8 * 3;
}

/// <summary>A source of lines: a text, or a gzip or zip of texts, recognised by its first bytes.</summary>
/// <param name="Name">Used in messages, and to recognise the input when an import resumes.</param>
/// <param name="Open">Opens the input at its beginning; the stream must be seekable, unless it can be read only once.</param>
public sealed record ImportInput(string Name, Func<Stream> Open)
{
    public const string StandardInputName = "-";

    public long? Length { get; init; }

    /// <summary>Identifies a state of the content. Null if it can be read only once, so an interrupted import starts again.</summary>
    public string? Version { get; init; }

    public static ImportInput File(string path)
    {
        var file = new FileInfo(path);
        if (!file.Exists)
            throw new BadInputException($"'{path}': expected a file, found none; check the path");
        // No buffer: it is read in large blocks.
        return new ImportInput(path, () => new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 1))
        {
            Length = file.Length,
            Version = $"{file.FullName} {file.LastWriteTimeUtc.Ticks}",
        };
    }

    /// <summary>Returns a text or a gzip that can be read only once.</summary>
    public static ImportInput StandardInput(Stream input) => new(StandardInputName, () => input);
}
