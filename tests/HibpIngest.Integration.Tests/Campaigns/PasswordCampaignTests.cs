using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Imports hashes of both modes with <c>hibp passwords import</c> into each back end, compared with <c>sort</c> of the
/// same file, and compares responses of <c>hibp serve</c> with what a separate script expects (expected-ranges.mjs).
/// Then kills imports, and repeats them until they end.
/// </summary>
public sealed class PasswordCampaignTests(ITestOutputHelper output) : Campaign(output)
{
    private const int MemoryMiB = 512;
    private const int RowsOfPrefix = 1_953;
    private const int TablePrefixes = 100;
    private const int EmptyPrefixes = 20;
    private const string Release = "campaign";

    /// <summary>The longest import into packs, as a multiple of sort. Only the long form has the machine to itself.</summary>
    private const double MaxTimesSort = 2.5;

    private static readonly int Rows = Size(40_000, 20_000_000); // of each mode
    private static readonly int Drawn = Size(20, 2_000); // prefixes to request
    private static readonly int Kills = Size(3, 6);
    private static readonly int Prefixes = Math.Clamp(Rows / RowsOfPrefix, 1, 0x2800);
    private static readonly TimeSpan ReadMemoryEvery = TimeSpan.FromMilliseconds(20);

    private readonly List<string> _misses = [];

    protected override string? DataFolder => IsLong ? File("emulator") : null;

    [Fact]
    public async Task Ranges_of_each_back_end_match_the_script_even_after_killed_imports()
    {
        var random = new Random(Seed);
        var list = new PasswordList(Rows, Prefixes, Seed);
        var order = Enumerable.Range(0, Prefixes).ToArray();
        random.Shuffle(order);
        var small = order.Take(Math.Min(TablePrefixes, (Prefixes / 10) + 1)).ToHashSet();
        foreach (var mode in HashModes.All)
            list.Write(mode, ListOf(mode), ListOf(mode, ".small"), small.Contains);
        Say($"{Rows:N0} lines of each mode in {Prefixes:N0} prefixes, {new FileInfo(ListOf(HashMode.Sha1)).Length >> 20:N0} and "
            + $"{new FileInfo(ListOf(HashMode.Ntlm)).Length >> 20:N0} MiB");

        random.Shuffle(order);
        // Empty ranges are requested as well.
        string[] asked = [.. order.Take(Drawn).Select(list.Prefix)
            .Concat(Enumerable.Range(0, Math.Min(EmptyPrefixes, Drawn)).Select(_ => random.Next(0x2800, HashModes.Ranges)))
            .Distinct().Select(HashModes.PrefixText)];
        var expected = await ExpectAsync("", asked);
        var expectedOfSmall = await ExpectAsync(".small", [.. small.Select(index => HashModes.PrefixText(list.Prefix(index)))]);

        Say("| import | rows | seconds | rows/s | peak MiB | times sort |");
        Say("| --- | ---: | ---: | ---: | ---: | ---: |");
        var undisturbed = new Dictionary<HashMode, double>();
        var (sorting, importing) = (0.0, 0.0);
        foreach (var mode in HashModes.All)
        {
            var sort = await ExternalProgram.SortAsync(ListOf(mode), File("sorted.txt"), MemoryMiB);
            undisturbed[mode] = await ImportAsync(mode, "", Release, "pack", Rows, sort);
            (sorting, importing) = (sorting + sort, importing + undisturbed[mode]);
        }
        Say($"both into pack: {importing / sorting:F2} times sort");
        if (IsLong && importing > MaxTimesSort * sorting)
            _misses.Add($"into pack: {importing / sorting:F2} times sort, {MaxTimesSort:F1} at most");
        foreach (var mode in HashModes.All)
            await ImportAsync(mode, "", Release, "blob", Rows, null);
        foreach (var mode in HashModes.All)
            await ImportAsync(mode, ".small", Release + "small", "table", (long)small.Count * Rows / Prefixes, null, "--no-switch");
        // The release in tables is much smaller than the served one, so only this server reads it.
        await SucceedAsync("passwords", "switch", "table", "--release", Release + "small");

        Say(ExpectedRanges.Head);
        await AskAsync("pack", "pack", expected);
        await AskAsync("blob", "blob", expected);
        await AskAsync("table", "table", expectedOfSmall);
        for (var (number, left) = (1, Kills); left > 0; number++)
        {
            foreach (var mode in HashModes.All)
            {
                // The first mode's import gets at most half of the kills.
                var kills = mode == HashMode.Sha1 ? (left + 1) / 2 : left;
                left -= await ImportKilledAsync(mode, $"{Release}killed{number}", random, undisturbed[mode], kills);
            }
            await AskAsync("pack", $"pack, killed import {number}", expected);
        }
        Assert.Empty(_misses);
    }

    private HibpProcess StartImport(HashMode mode, string kind, string release, string into, params string[] options) =>
        Start(["passwords", "import", ListOf(mode, kind), "--mode", mode.Name(), "--release", release, "--into", into, "--memory",
            $"{MemoryMiB}", .. options]);

    /// <returns>Seconds.</returns>
    private async Task<double> ImportAsync(
        HashMode mode, string kind, string release, string into, long rows, double? sort, params string[] options)
    {
        var began = Stopwatch.GetTimestamp();
        var process = StartImport(mode, kind, release, into, options);
        var peak = await PeakAsync(process);
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        (await process.EndAsync()).Succeeded();
        var times = sort is null ? "" : $"{seconds / sort:F2} ({sort:F1} s)";
        Say($"| {mode.Name()} into {into} | {rows:N0} | {seconds:F1} | {rows / seconds:N0} | {peak:N0} | {times} |");
        if (peak > MemoryMiB)
            _misses.Add($"{mode.Name()} into {into}: {peak:N0} MiB of memory, {MemoryMiB} at most");
        return seconds;
    }

    /// <summary>Returns the process's peak memory in MiB, once it has ended.</summary>
    private static async Task<double> PeakAsync(HibpProcess process)
    {
        var peak = 0.0;
        using var timer = new PeriodicTimer(ReadMemoryEvery);
        while (!process.HasExited)
        {
            try
            {
                peak = ProcessMemory.PeakMiB(process.Id);
            }
            catch (IOException)
            {
                // It has just ended.
            }
            await timer.WaitForNextTickAsync();
        }
        return peak;
    }

    /// <summary>Kills the import at random moments, and repeats the command until it ends.</summary>
    /// <returns>The number of kills.</returns>
    private async Task<int> ImportKilledAsync(HashMode mode, string release, Random random, double undisturbed, int kills)
    {
        var moments = new List<string>();
        for (var killed = 0; ; killed++)
        {
            var process = StartImport(mode, "", release, "pack");
            if (killed < kills)
            {
                var moment = random.NextDouble() * undisturbed;
                using var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(moment));
                if (!await process.HasEndedAsync(timeout.Token))
                {
                    await process.KillAsync();
                    moments.Add($"{moment:F2}");
                    if ((await process.EndAsync()).ExitCode != 0)
                        continue;
                }
            }
            (await process.EndAsync()).Succeeded();
            Say($"{mode.Name()} as {release}, killed after {string.Join(", ", moments)} s: ended");
            return killed;
        }
    }

    /// <summary>Sends requests to a server that reads from one back end.</summary>
    private async Task AskAsync(string backend, string what, IReadOnlyList<ExpectedRange> expected)
    {
        Variables["HIBP_PASSWORDS"] = backend;
        var serve = await ServeAsync("--open");
        Variables.Remove("HIBP_PASSWORDS");
        if (await new ExpectedRanges(Folder.Path, Say).AskAsync(serve.Address, what, expected) is > 0 and var differences)
            _misses.Add($"{what}: {differences} unexpected responses");
        await serve.KillAsync();
    }

    private Task<IReadOnlyList<ExpectedRange>> ExpectAsync(string kind, string[] prefixes) =>
        new ExpectedRanges(Folder.Path, Say).ReadAsync(mode => ListOf(mode, kind), prefixes);

    private string ListOf(HashMode mode, string kind = "") => File($"{mode.Name()}{kind}.txt");
}
