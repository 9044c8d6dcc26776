using System.Text.Json;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>The checkpoint of a replay, from which an interrupted one resumes.</summary>
internal sealed record Replay
{
    /// <summary>The merged loads, in the order of the merge.</summary>
    public required IReadOnlyList<ReplayedLoad> Loads { get; init; }

    /// <summary>The memory limit, which determines the number of partitions.</summary>
    public required long MemoryBytes { get; init; }

    /// <summary>Whether hashes are written too: partitions without them don't count once the layout has ranges.</summary>
    public bool Ranges { get; init; }

    /// <summary>Number of partitions of the merge; 0: not known yet.</summary>
    public int Partitions { get; set; }

    /// <summary>Partitions that are completely written.</summary>
    public required SortedSet<int> Done { get; init; }

    /// <summary>Marks written since a replay last completed: those retired meanwhile must be removed.</summary>
    public required SortedSet<int> Marks { get; init; }

    /// <summary>
    /// Returns the earlier replay if it has the same loads, memory limit and ranges; otherwise a new one, which keeps the earlier marks.
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

    /// <summary>Reads the output of <see cref="ToJson"/>; null: there is none.</summary>
    public static Replay? Parse(string? json) => json is null ? null : JsonSerializer.Deserialize<Replay>(json);

    public string ToJson() => JsonSerializer.Serialize(this);

    /// <summary>Begins the merge. Discards completed partitions if their number has changed.</summary>
    public void Begin(int partitions)
    {
        if (Partitions != partitions)
            Done.Clear();
        Partitions = partitions;
    }
}

/// <param name="IsLogged">Whether it is read from the journal instead of SQL.</param>
internal sealed record ReplayedLoad(long Load, int Mark, long Rows, bool IsLogged);
