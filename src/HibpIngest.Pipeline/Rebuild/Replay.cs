using System.Text.Json;

namespace HibpIngest.Pipeline;

/// <summary>What is recorded of a replay, so that one that was broken off is gone on with.</summary>
internal sealed record Replay
{
    /// <summary>The loads that are merged, in the order of the merge.</summary>
    public required IReadOnlyList<ReplayedLoad> Loads { get; init; }

    /// <summary>The limit that the number of partitions comes of.</summary>
    public required long MemoryBytes { get; init; }

    /// <summary>Hashes are written too: partitions without them count for nothing once the layout has ranges.</summary>
    public bool Ranges { get; init; }

    /// <summary>Into how many partitions they go; 0: not known yet.</summary>
    public int Partitions { get; set; }

    /// <summary>Partitions that are written.</summary>
    public required SortedSet<int> Done { get; init; }

    /// <summary>
    /// Marks that were written since a replay last came to its end: those that are removed meanwhile have to be taken off.
    /// </summary>
    public required SortedSet<int> Marks { get; init; }

    /// <summary>
    /// The one before, where it is of the same loads, partitions and ranges; else one that starts again, with its marks to look for.
    /// </summary>
    public static Replay Of(IReadOnlyList<ReplayedLoad> loads, long memoryBytes, bool ranges, Replay? before)
    {
        if (before is not null && before.MemoryBytes == memoryBytes && before.Ranges == ranges && before.Loads.SequenceEqual(loads))
            return before;
        return new Replay
        {
            Loads = loads,
            MemoryBytes = memoryBytes,
            Ranges = ranges,
            Done = [],
            Marks = [.. loads.Select(load => load.Mark), .. before?.Marks ?? []],
        };
    }

    /// <summary>Reads what <see cref="ToJson"/> has written; null: nothing, or what another program has.</summary>
    public static Replay? Parse(string? json) => json is null ? null : JsonSerializer.Deserialize<Replay>(json);

    public string ToJson() => JsonSerializer.Serialize(this);

    /// <summary>The merge begins; what was done of one with other partitions counts no more.</summary>
    public void Begin(int partitions)
    {
        if (Partitions != partitions)
            Done.Clear();
        Partitions = partitions;
    }
}

/// <summary>One of a replay's loads.</summary>
/// <param name="IsLogged">From the account log; false: from SQL.</param>
internal sealed record ReplayedLoad(long Load, int Mark, long Rows, bool IsLogged);
