using HibpIngest.Passwords.Import;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a process that turns a file of unordered hashes into sorted ranges, compared with <c>sort</c> of the same
/// file with the same memory.
/// </summary>
internal static class PasswordSortBenchmark
{
    private const int Seed = 13;

    // With 20 million hashes, each has as many as in a published list.
    private const int Prefixes = 0x2800;

    private const int MemoryMiB = 512;
    private const double MaxTimesSort = 2.5;

    public static async Task<bool> RunAsync(long rows, string folder)
    {
        var list = Path.Combine(folder, "list.txt");
        new PasswordList(rows, Prefixes, Seed).Write(HashMode.Sha1, list, list + ".none", _ => false);
        Console.WriteLine($"{rows:N0} lines in {Prefixes:N0} prefixes, {new FileInfo(list).Length / 1048576.0:N0} MiB, {MemoryMiB} MiB "
            + $"of memory, seed {Seed}");
        var sort = await ExternalProgram.SortAsync(list, Path.Combine(folder, "sorted.txt"), MemoryMiB);
        var began = Stopwatch.GetTimestamp();
        var (read, peak) = await MeasuredChild.RunAsync("passwordsort-child", list, Path.Combine(folder, "work")) is [var one, var other]
            ? (one, other) : default;
        var import = Stopwatch.GetElapsedTime(began).TotalSeconds;
        Console.WriteLine("| what | seconds | million lines/s | peak MiB |");
        Console.WriteLine("| --- | ---: | ---: | ---: |");
        Console.WriteLine($"| sort | {sort:F1} | {rows / sort / 1e6:F2} | |");
        Console.WriteLine($"| read and spool | {read:F1} | {rows / read / 1e6:F2} | |");
        Console.WriteLine($"| all, with the process's start | {import:F1} | {rows / import / 1e6:F2} | {peak:N0} |");
        Console.WriteLine($"{import / sort:F2} times sort (at most {MaxTimesSort:F1})");
        return import / sort <= MaxTimesSort && peak <= MemoryMiB;
    }

    /// <summary>Runs the measured process; reports the seconds of reading, and its peak memory.</summary>
    public static async Task ChildAsync(string list, string work)
    {
        var began = Stopwatch.GetTimestamp();
        using var import = HashImport.Open(
            new ImportOptions { WorkFolder = work, MemoryBytes = (long)MemoryMiB << 20 }, [ImportInput.File(list)]);
        await import.ReadAsync(null, CancellationToken.None);
        var read = Stopwatch.GetElapsedTime(began).TotalSeconds;
        var hashes = 0L;
        await import.Ranges(HashMode.Sha1).ReadAsync(
            0, SortedRanges.Buckets,
            (_, rows, _) =>
            {
                hashes += rows.Length;
                return ValueTask.CompletedTask;
            },
            CancellationToken.None);
        import.Delete();
        if (hashes == 0)
            throw new InvalidOperationException("the import found no hash");
        MeasuredChild.Report(read, MeasuredChild.PeakMiB());
    }
}
