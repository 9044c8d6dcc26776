namespace HibpIngest.Journal.Merge;

/// <summary>
/// Merges the accounts of many loads, each with all the loads it is in, within a memory limit. The first pass reads the loads and writes
/// their rows to disk by partition; the second reads the partitions, each of which fits into memory.
/// </summary>
/// <param name="folder">Holds the partitions meanwhile: about 21 bytes a row, readable only by this process's user.</param>
/// <param name="memoryBytes">Maximum for a partition, with the structures built from it.</param>
public sealed class MergeAccounts(string folder, long memoryBytes = MergeAccounts.DefaultMemoryBytes)
{
    /// <summary>About a million rows in a partition.</summary>
    public const long DefaultMemoryBytes = 256L << 20;

    /// <summary>Passes every account to <paramref name="take"/> once.</summary>
    /// <param name="loads">The loads; their indexes are their numbers in the merge.</param>
    /// <param name="take">
    /// Takes a partition's accounts. The object is refilled after the task has ended. Meanwhile the next partition is filled, in as much
    /// memory again, and passed concurrently.
    /// </param>
    /// <param name="progress">Receives the rows read so far; each of the two passes counts half.</param>
    /// <param name="cancellationToken">Stops the merge; removes its files.</param>
    /// <param name="choose">
    /// Receives the number of partitions, which is the same for the same loads and memory; returns which of them are taken. If null, all.
    /// </param>
    /// <returns>Rows merged, including those of partitions that were not taken.</returns>
    /// <exception cref="DamagedSegmentException">A segment is damaged.</exception>
    /// <exception cref="Errors.StoreMissingException">A segment is missing.</exception>
    public async Task<long> RunAsync(
        IReadOnlyList<IMergeSource> loads, Func<MergedPartition, Task> take, IProgress<long>? progress, CancellationToken cancellationToken,
        Func<int, Func<int, bool>>? choose = null)
    {
        var (large, all) = (new List<LargeDomain>(), 0L);
        foreach (var load in loads)
        {
            large.AddRange(await load.FindLargeDomainsAsync(cancellationToken));
            all += load.Rows;
        }
        var plan = new MergePlan(all, memoryBytes, large);
        var isTaken = choose?.Invoke(plan.Partitions) ?? (_ => true);
        var files = new SpillFile?[plan.Partitions];
        var spills = Directory.CreateDirectory(Path.Combine(folder, $"hibp-merge-{Guid.NewGuid():N}"));
        try
        {
            for (var i = 0; i < files.Length; i++)
                files[i] = isTaken(i) ? new SpillFile(Path.Combine(spills.FullName, $"{i}")) : null;
            var done = 0L;
            for (var load = 0; load < loads.Count; load++)
                await loads[load].ReadAsync(new Spiller(plan, files, load), Read, cancellationToken);
            var (partition, other) = (new MergedPartition(plan), (MergedPartition?)null);
            var (before, taken) = (Task.CompletedTask, Task.CompletedTask);
            try
            {
                for (var i = 0; i < files.Length; i++)
                {
                    cancellationToken.ThrowIfCancellationRequested();
                    if (files[i] is not { } file)
                        continue;
                    // A second buffer is needed only while the previous partition is still being taken.
                    if (!taken.IsCompleted)
                        (partition, other) = (other ?? new MergedPartition(plan), partition);
                    partition.Fill(i, file);
                    Read(file.Rows);
                    (before, taken) = (taken, take(partition));
                    await before;
                }
            }
            finally
            {
                await Task.WhenAll(before, taken);
            }
            return all;

            void Read(long rows) => progress?.Report((done += rows) / 2);
        }
        finally
        {
            foreach (var file in files)
                file?.Dispose();
            spills.Delete(recursive: true);
        }
    }

    private readonly struct Spiller(MergePlan plan, SpillFile?[] files, int load) : IAccountVisitor
    {
        private readonly State _state = new(files.Length);

        public void BeginBlock(in SegmentBlock block)
        {
        }

        public void BeginDomain(ReadOnlySpan<byte> domain, int rows)
        {
            _state.Partition = plan.PartitionOf(domain);
            if (_state.Partition >= 0)
                files[_state.Partition]?.Begin(load, domain);
            else
                _state.Domain++;
        }

        public void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
        {
            var partition = _state.Partition;
            if (partition < 0)
            {
                partition = plan.PartitionOfAlias(alias);
                if (_state.LastDomains[partition] != _state.Domain)
                {
                    files[partition]?.Begin(load, domain);
                    _state.LastDomains[partition] = _state.Domain;
                }
            }
            files[partition]?.Add(alias);
        }
    }

    private sealed class State(int partitions)
    {
        /// <summary>Partition of the current domain; -1: it is large, and its accounts go by alias.</summary>
        public int Partition { get; set; }

        public int Domain { get; set; }

        public int[] LastDomains { get; } = new int[partitions];
    }
}
