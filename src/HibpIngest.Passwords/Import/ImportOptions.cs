namespace HibpIngest.Passwords;

public sealed record ImportOptions
{
    /// <summary>512 MiB: what the smallest machines have to spare.</summary>
    public const long DefaultMemoryBytes = 512L << 20;

    /// <summary>Below this, what the runtime itself takes would be most of it.</summary>
    public const long LeastMemoryBytes = 64L << 20;

    /// <summary>
    /// Where hashes lie until they are sorted: 28 bytes a line, twice that for passwords. For one import at a time.
    /// </summary>
    public required string WorkFolder { get; init; }

    /// <summary>
    /// Most bytes that the process is meant to take, roughly: an eighth collects hashes on their way to the disk,
    /// three eighths sort them, and half is for what isn't under this class's control: the runtime, and whatever is
    /// made of the sorted ranges.
    /// </summary>
    public long MemoryBytes { get; init; } = DefaultMemoryBytes;

    /// <summary>How the hashes were made; of no consequence for passwords.</summary>
    public HashMode Mode { get; init; } = HashMode.Sha1;

    /// <summary>The lines are passwords, which are hashed for every mode, rather than hashes.</summary>
    public bool Plain { get; init; }

    /// <summary>The modes that come of it.</summary>
    public IReadOnlyList<HashMode> Modes => Plain ? HashModes.All : [Mode];

    /// <summary>
    /// Text between two checkpoints. 512 MiB: some ten seconds of work, and enough for a full chunk of each bucket
    /// beside the partly filled one that a checkpoint makes.
    /// </summary>
    internal long CheckpointBytes { get; init; } = 512L << 20;

    internal int BlockBytes { get; init; } = 1 << 20;

    internal long BufferBytes => MemoryBytes / 8;

    internal long SortBytes => MemoryBytes / 8 * 3;
}
