namespace HibpIngest.Passwords.Import;

public sealed record ImportOptions
{
    /// <summary>512 MiB: what the smallest machines can spare.</summary>
    public const long DefaultMemoryBytes = 512L << 20;

    /// <summary>Below this, the runtime itself would take most of the memory.</summary>
    public const long LeastMemoryBytes = 64L << 20;

    /// <summary>Folder for unsorted hashes: 28 bytes per line, 56 for passwords. Used by one import at a time.</summary>
    public required string WorkFolder { get; init; }

    /// <summary>
    /// The approximate memory limit of the process in bytes: an eighth buffers hashes on their way to the disk, three eighths sort them,
    /// and half is for everything else: the runtime, and whatever is built from the sorted ranges.
    /// </summary>
    public long MemoryBytes { get; init; } = DefaultMemoryBytes;

    /// <summary>The hashes' mode; ignored for passwords.</summary>
    public HashMode Mode { get; init; } = HashMode.Sha1;

    /// <summary>Whether the lines are passwords, which are hashed for every mode, rather than hashes.</summary>
    public bool Plain { get; init; }

    /// <summary>The modes that the import produces.</summary>
    public IReadOnlyList<HashMode> Modes => Plain ? HashModes.All : [Mode];

    /// <summary>
    /// Bytes of text between two checkpoints. 512 MiB: about ten seconds of work, and enough for a full chunk of each bucket in addition to
    /// the partly filled one that a checkpoint writes.
    /// </summary>
    internal long CheckpointBytes { get; init; } = 512L << 20;

    internal int BlockBytes { get; init; } = 1 << 20;

    internal long BufferBytes => MemoryBytes / 8;

    internal long SortBytes => MemoryBytes / 8 * 3;
}
