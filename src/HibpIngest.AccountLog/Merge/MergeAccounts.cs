namespace HibpIngest.AccountLog;

/// <summary>
/// Brings each account of many loads together with all the loads that it is in, within a limit of memory: one pass over
/// the log that writes its rows to disk by partition, and one over the partitions, each of which fits into memory.
/// </summary>
/// <param name="folder">Where the partitions lie meanwhile: some 21 bytes a row, which only this process's user may read.</param>
/// <param name="memoryBytes">That a partition may take, with what is made of it.</param>
public sealed class MergeAccounts(string folder, long memoryBytes = MergeAccounts.DefaultMemoryBytes)
{
    /// <summary>A million rows or so in a partition.</summary>
    public const long DefaultMemoryBytes = 256L << 20;

    /// <summary>Returns when every account has been taken, each once.</summary>
    /// <param name="loads">Those that are merged; their places are their numbers in the merge.</param>
    /// <param name="take">
    /// Takes a partition's accounts; what it is given is filled with others once the task has ended. The next partition is
    /// filled meanwhile, in as much memory again, and taken beside it.
    /// </param>
    /// <param name="progress">Told of rows that were read, of both passes together.</param>
    /// <param name="cancellationToken">Stops it; nothing is left on disk.</param>
    /// <param name="choose">
    /// Told into how many partitions they go, which the same loads and memory always do alike; says which of them are taken.
    /// </param>
    /// <returns>Rows that were merged, those of partitions that were not taken among them.</returns>
    /// <exception cref="DamagedSegmentException">A segment is damaged, or missing.</exception>
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
                    // One that is taken at once needs no other beside it.
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

    private readonly struct Spiller : IAccountVisitor
    {
        private readonly MergePlan _plan;
        private readonly SpillFile?[] _files;
        private readonly int _load;
        private readonly State _state;

        public Spiller(MergePlan plan, SpillFile?[] files, int load) =>
            (_plan, _files, _load, _state) = (plan, files, load, new State(files.Length));

        public void BeginBlock(in SegmentBlock block)
        {
        }

        public void BeginDomain(ReadOnlySpan<byte> domain, int rows)
        {
            _state.Partition = _plan.PartitionOf(domain);
            if (_state.Partition >= 0)
                _files[_state.Partition]?.Begin(_load, domain);
            else
                _state.Domain++;
        }

        public void Account(ReadOnlySpan<byte> domain, ReadOnlySpan<byte> alias)
        {
            var partition = _state.Partition;
            if (partition < 0)
            {
                partition = _plan.PartitionOfAlias(alias);
                if (_state.Begun[partition] != _state.Domain)
                {
                    _files[partition]?.Begin(_load, domain);
                    _state.Begun[partition] = _state.Domain;
                }
            }
            _files[partition]?.Add(alias);
        }
    }

    private sealed class State(int partitions)
    {
        /// <summary>Of the domain in hand; -1: it is large.</summary>
        public int Partition { get; set; }

        public int Domain { get; set; }

        /// <summary>The large domain that each partition has begun last.</summary>
        public int[] Begun { get; } = new int[partitions];
    }
}
