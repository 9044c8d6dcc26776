using System.Diagnostics;
using System.Globalization;
using HibpIngest.Cli.Emulator;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Imports hashes of both modes with <c>hibp passwords import</c> on the emulator into each back end, compared with
/// <c>sort</c> of the same file, and compares responses of <c>hibp serve</c> with what a separate script expects
/// (expected-ranges.mjs). Then kills imports, and repeats them until they end.
/// </summary>
internal sealed class PasswordCampaign(string folder, Action<string> say)
{
    private const int MemoryMiB = 512;
    private const int RowsOfPrefix = 1_953;
    private const int TablePrefixes = 100;
    private const int EmptyPrefixes = 20;
    private const string Release = "campaign";

    // In memory the emulator is faster, as long as the data fits.
    private const long MaxRowsInMemory = 3_000_000;

    private static readonly TimeSpan LookAtMemoryEvery = TimeSpan.FromMilliseconds(20);

    private readonly Dictionary<string, string> _variables = [];
    private readonly List<string> _misses = [];

    /// <summary>
    /// Prints the figures; returns false if a response differs from what is expected, or if an import took too long
    /// or too much memory.
    /// </summary>
    /// <param name="rows">Lines per mode.</param>
    /// <param name="drawn">Prefixes to request.</param>
    /// <param name="kills">Number of killed imports.</param>
    /// <param name="seed">Seeds everything random.</param>
    /// <param name="most">The longest import into packs, as a multiple of sort; null: no limit.</param>
    public async Task<bool> RunAsync(long rows, int drawn, int kills, int seed, double? most)
    {
        say($"seed {seed}");
        var random = new Random(seed);
        var prefixes = (int)Math.Clamp(rows / RowsOfPrefix, 1, 0x2800);
        var list = new PasswordList(rows, prefixes, seed);
        var order = Enumerable.Range(0, prefixes).ToArray();
        random.Shuffle(order);
        var small = order.Take(Math.Min(TablePrefixes, (prefixes / 10) + 1)).ToHashSet();
        foreach (var mode in HashModes.All)
            list.Write(mode, ListOf(mode), ListOf(mode, ".small"), small.Contains);
        say($"{rows:N0} lines of each mode in {prefixes:N0} prefixes, {new FileInfo(ListOf(HashMode.Sha1)).Length >> 20:N0} and "
            + $"{new FileInfo(ListOf(HashMode.Ntlm)).Length >> 20:N0} MiB");

        random.Shuffle(order);
        // Empty ranges are requested as well.
        string[] asked = [.. order.Take(drawn).Select(list.Prefix)
            .Concat(Enumerable.Range(0, Math.Min(EmptyPrefixes, drawn)).Select(_ => random.Next(0x2800, HashModes.Ranges)))
            .Distinct().Select(HashModes.PrefixText)];
        var expected = await ExpectAsync("", asked);
        var expectedOfSmall = await ExpectAsync(".small", [.. small.Select(index => HashModes.PrefixText(list.Prefix(index)))]);

        var data = rows > MaxRowsInMemory ? File("emulator") : null;
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions { DataFolder = data }, CancellationToken.None);
        _variables["HIBP_STORAGE"] = emulator.ConnectionString;
        await using var processes = new CommandProcesses(folder, _variables);

        say("| import | rows | seconds | rows/s | peak MiB | times sort |");
        say("| --- | ---: | ---: | ---: | ---: | ---: |");
        var undisturbed = new Dictionary<HashMode, double>();
        var (sorting, importing) = (0.0, 0.0);
        foreach (var mode in HashModes.All)
        {
            var sort = await SortAsync(ListOf(mode));
            undisturbed[mode] = await ImportAsync(processes, mode, "", Release, "pack", rows, sort);
            (sorting, importing) = (sorting + sort, importing + undisturbed[mode]);
        }
        say(string.Create(CultureInfo.InvariantCulture, $"both into pack: {importing / sorting:F2} times sort"));
        if (most is not null && importing > most * sorting)
            _misses.Add(string.Create(CultureInfo.InvariantCulture, $"into pack: {importing / sorting:F2} times sort, {most:F1} at most"));
        foreach (var mode in HashModes.All)
            await ImportAsync(processes, mode, "", Release, "blob", rows, null);
        foreach (var mode in HashModes.All)
            await ImportAsync(processes, mode, ".small", Release + "small", "table", small.Count * rows / prefixes, null, "--no-switch");
        // The release in tables is much smaller than the served one, so only this server reads it.
        await SwitchAsync(processes, "table", Release + "small");

        say("| back end | prefixes | bytes | differences |");
        say("| --- | ---: | ---: | ---: |");
        await AskAsync(processes, "pack", "pack", expected);
        await AskAsync(processes, "blob", "blob", expected);
        await AskAsync(processes, "table", "table", expectedOfSmall);
        for (var (number, left) = (1, kills); left > 0; number++)
        {
            foreach (var mode in HashModes.All)
            {
                // The first mode's import gets at most half of the kills.
                var most1 = mode == HashMode.Sha1 ? (left + 1) / 2 : left;
                left -= await ImportKilledAsync(processes, mode, $"{Release}killed{number}", random, undisturbed[mode], most1);
            }
            await AskAsync(processes, "pack", $"pack, killed import {number}", expected);
        }
        foreach (var miss in _misses)
            say($"missed: {miss}");
        return _misses.Count == 0;
    }

    /// <summary>The ceiling: sort of the same file with the same memory.</summary>
    private async Task<double> SortAsync(string list)
    {
        var start = new ProcessStartInfo("sort", ["-S", $"{MemoryMiB}M", "-T", folder, "-o", File("sorted.txt"), list])
        {
            UseShellExecute = false,
        };
        start.Environment["LC_ALL"] = "C";
        var began = Stopwatch.GetTimestamp();
        using var process = Process.Start(start)!;
        await process.WaitForExitAsync();
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"sort ended with {process.ExitCode}");
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        System.IO.File.Delete(File("sorted.txt"));
        return seconds;
    }

    private string[] Command(HashMode mode, string kind, string release, string into) =>
        ["passwords", "import", ListOf(mode, kind), "--mode", mode.Name(), "--release", release, "--into", into, "--memory",
            $"{MemoryMiB}"];

    /// <returns>Seconds.</returns>
    private async Task<double> ImportAsync(
        CommandProcesses processes, HashMode mode, string kind, string release, string into, long rows, double? sort,
        params string[] options)
    {
        var began = Stopwatch.GetTimestamp();
        var process = processes.Start([.. Command(mode, kind, release, into), .. options]);
        var (output, error) = (process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
        var peak = await PeakAsync(process);
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"import into {into}: {process.ExitCode}: {await output}{await error}");
        var times = sort is null ? "" : string.Create(CultureInfo.InvariantCulture, $"{seconds / sort:F2} ({sort:F1} s)");
        say(string.Create(
            CultureInfo.InvariantCulture,
            $"| {mode.Name()} into {into} | {rows:N0} | {seconds:F1} | {rows / seconds:N0} | {peak:N0} | {times} |"));
        if (peak > MemoryMiB)
            _misses.Add($"{mode.Name()} into {into}: {peak:N0} MiB of memory, {MemoryMiB} at most");
        return seconds;
    }

    private static async Task SwitchAsync(CommandProcesses processes, string backend, string release)
    {
        var process = processes.Start("passwords", "switch", backend, "--release", release);
        var (output, error) = (process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
        await process.WaitForExitAsync();
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"switch to {backend}: {process.ExitCode}: {await output}{await error}");
    }

    /// <summary>Returns the peak resident memory of the process (VmHWM, counted by the kernel) in MiB, once it has ended.</summary>
    private static async Task<double> PeakAsync(Process process)
    {
        var peak = 0.0;
        using var timer = new PeriodicTimer(LookAtMemoryEvery);
        while (!process.HasExited)
        {
            try
            {
                var line = System.IO.File.ReadLines($"/proc/{process.Id}/status")
                    .FirstOrDefault(line => line.StartsWith("VmHWM", StringComparison.Ordinal));
                if (line is not null)
                    peak = double.Parse(
                        line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture) / 1024;
            }
            catch (IOException)
            {
                // It has just ended.
            }
            await timer.WaitForNextTickAsync();
        }
        await process.WaitForExitAsync();
        return peak;
    }

    /// <summary>Kills the import at random moments, and repeats the command until it ends.</summary>
    /// <returns>The number of kills.</returns>
    private async Task<int> ImportKilledAsync(
        CommandProcesses processes, HashMode mode, string release, Random random, double undisturbed, int most)
    {
        var moments = new List<string>();
        for (var killed = 0; ; killed++)
        {
            var process = processes.Start(Command(mode, "", release, "pack"));
            var (output, error) = (process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
            if (killed < most)
            {
                var moment = random.NextDouble() * undisturbed;
                using var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(moment));
                await process.WaitForExitAsync(timeout.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                if (!process.HasExited)
                {
                    process.Kill();
                    await process.WaitForExitAsync();
                    moments.Add(string.Create(CultureInfo.InvariantCulture, $"{moment:F2}"));
                    if (process.ExitCode != 0)
                        continue;
                }
            }
            await process.WaitForExitAsync();
            if (process.ExitCode != 0)
                throw new InvalidOperationException(
                    $"import killed after {string.Join(", ", moments)} s: {process.ExitCode}: {await output}{await error}");
            say($"{mode.Name()} as {release}, killed after {string.Join(", ", moments)} s: ended");
            return killed;
        }
    }

    /// <summary>Sends requests to a server that reads from one back end.</summary>
    private async Task AskAsync(CommandProcesses processes, string backend, string what, IReadOnlyList<ExpectedRange> expected)
    {
        _variables["HIBP_PASSWORDS"] = backend;
        var serve = processes.Start("serve", "--open", "--urls", "http://127.0.0.1:0");
        _variables.Remove("HIBP_PASSWORDS");
        var address = (await CommandProcesses.SaysAsync(serve, "API:"))["API:".Length..].Trim();
        if (await new ExpectedRanges(folder, say).AskAsync(address, what, expected) is > 0 and var differences)
            _misses.Add($"{what}: {differences} answers are not what is expected");
        serve.Kill();
    }

    private Task<IReadOnlyList<ExpectedRange>> ExpectAsync(string kind, string[] prefixes) =>
        new ExpectedRanges(folder, say).ReadAsync(mode => ListOf(mode, kind), prefixes);

    private string ListOf(HashMode mode, string kind = "") => File($"{mode.Name()}{kind}.txt");

    private string File(string name) => Path.Combine(folder, name);
}
