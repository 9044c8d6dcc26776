using System.Diagnostics;
using System.Globalization;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Import;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a process that turns a file of unordered hashes into sorted ranges, compared with <c>sort</c> of the same
/// file with the same memory.
/// </summary>
internal static class PasswordSortBenchmark
{
    private const int Seed = 13;

    /// <summary>Prefixes 00000 to 027FF: with 20 million hashes, each has as many as in a published list.</summary>
    private const int Prefixes = 0x2800;

    private const int MemoryMiB = 512;

    public static async Task<bool> RunAsync(long rows, double most, string folder)
    {
        var list = Path.Combine(folder, "list.txt");
        var sum = Write(list, rows);
        var length = new FileInfo(list).Length;
        Console.WriteLine(
            $"{rows:N0} lines in {Prefixes:N0} prefixes, {length / 1048576.0:N0} MiB, {MemoryMiB} MiB of memory, seed {Seed}");

        var sorted = Path.Combine(folder, "sorted.txt");
        var sort = new ProcessStartInfo("sort", ["-S", $"{MemoryMiB}M", "-T", folder, "-o", sorted, list]) { UseShellExecute = false };
        sort.Environment["LC_ALL"] = "C";
        var (sortTime, _) = await TimeAsync(sort);
        File.Delete(sorted);

        var (importTime, output) = await TimeAsync(
            new ProcessStartInfo(
                "dotnet", [typeof(PasswordSortBenchmark).Assembly.Location, "passwordsort-child", list, Path.Combine(folder, "work")])
            {
                RedirectStandardOutput = true,
                UseShellExecute = false,
            });
        File.Delete(list);
        var figures = output.Trim().Split(' ');
        if (figures[0] != sum.ToString(CultureInfo.InvariantCulture))
            throw new InvalidOperationException($"expected counts of {sum} in all, found {figures[0]}");
        var (read, peak) = (double.Parse(figures[1], CultureInfo.InvariantCulture), double.Parse(figures[2], CultureInfo.InvariantCulture));
        var ratio = importTime / sortTime;
        Console.WriteLine("| what | seconds | million lines/s | peak MiB |");
        Console.WriteLine("| --- | ---: | ---: | ---: |");
        Console.WriteLine($"| sort | {sortTime:F1} | {rows / sortTime / 1e6:F2} | |");
        Console.WriteLine($"| read and spool | {read:F1} | {rows / read / 1e6:F2} | |");
        Console.WriteLine($"| all, with the process's start | {importTime:F1} | {rows / importTime / 1e6:F2} | {peak:N0} |");
        Console.WriteLine($"{ratio:F2} times sort (at most {most:F1})");
        return ratio <= most && peak <= MemoryMiB;
    }

    /// <summary>Runs the measured process.</summary>
    public static async Task ChildAsync(string list, string work)
    {
        var began = Stopwatch.GetTimestamp();
        using var import = HashImport.Open(
            new ImportOptions { WorkFolder = work, MemoryBytes = (long)MemoryMiB << 20 }, [ImportInput.File(list)]);
        await import.ReadAsync(null, CancellationToken.None);
        var read = Stopwatch.GetElapsedTime(began).TotalSeconds;
        UInt128 sum = 0;
        await import.Ranges(HashMode.Sha1).ReadAsync(
            0, SortedRanges.Buckets,
            (_, rows, _) =>
            {
                foreach (var row in rows.Span)
                    sum += (UInt128)row.Count;
                return ValueTask.CompletedTask;
            },
            CancellationToken.None);
        import.Delete();
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{sum} {read} {MeasuredChild.PeakMiB()}"));
    }

    /// <summary>Writes random hashes, most of them with a small count.</summary>
    /// <returns>The sum of the counts.</returns>
    private static UInt128 Write(string list, long rows)
    {
        var random = new Random(Seed);
        UInt128 sum = 0;
        Span<byte> hash = stackalloc byte[20];
        Span<byte> line = stackalloc byte[64];
        using var output = new BufferedStream(File.Create(list), 1 << 20);
        for (var i = 0L; i < rows; i++)
        {
            random.NextBytes(hash);
            var prefix = random.Next(Prefixes);
            (hash[0], hash[1], hash[2]) = ((byte)(prefix >> 12), (byte)(prefix >> 4), (byte)((prefix << 4) | (hash[2] & 0xF)));
            var count = (long)Math.Min(1 / (1 - random.NextDouble()), 50_000_000);
            sum += (UInt128)count;
            Convert.TryToHexString(hash, line, out var written);
            line[written++] = (byte)':';
            count.TryFormat(line[written..], out var digits, default, CultureInfo.InvariantCulture);
            written += digits;
            line[written++] = (byte)'\r';
            line[written++] = (byte)'\n';
            output.Write(line[..written]);
        }
        return sum;
    }

    private static async Task<(double Seconds, string Output)> TimeAsync(ProcessStartInfo start)
    {
        var began = Stopwatch.GetTimestamp();
        using var process = Process.Start(start)!;
        var output = start.RedirectStandardOutput ? await process.StandardOutput.ReadToEndAsync() : "";
        await process.WaitForExitAsync();
        return process.ExitCode == 0
            ? (Stopwatch.GetElapsedTime(began).TotalSeconds, output)
            : throw new InvalidOperationException($"{start.FileName} ended with {process.ExitCode}");
    }
}
