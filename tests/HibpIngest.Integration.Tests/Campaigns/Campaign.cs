using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Kills the product's processes on an emulator of their own, and compares the end with what a separate script
/// expects. HIBP_TEST_CAMPAIGN=long multiplies the size: to that of the figures in docs/figures.md.
/// </summary>
public abstract class Campaign(ITestOutputHelper output) : CommandTestBase
{
    protected const string Scripts = "tests/HibpIngest.Integration.Tests/Campaigns";
    protected const string Extract = "tests/HibpIngest.Testing/EndToEnd/extract-accounts.mjs";
    internal const int DifferencesShown = 5;

    private static readonly TimeSpan LoadTimeout = TimeSpan.FromHours(2);

    private readonly List<HibpProcess> _processes = [];
    private readonly List<AzuriteEmulator> _emulators = [];

    protected static TimeSpan PollInterval { get; } = TimeSpan.FromMilliseconds(250);

    internal static bool IsLong { get; } = Environment.GetEnvironmentVariable("HIBP_TEST_CAMPAIGN") == "long";

    /// <summary>Seeds everything random.</summary>
    protected int Seed { get; } = Environment.TickCount & 0xFFFFFF;

    private protected IReadOnlyList<AzuriteEmulator> Emulators => _emulators;

    /// <summary>Null in memory, where the emulator is faster, as long as the data fits.</summary>
    protected virtual string? DataFolder => null;

    public override async Task InitializeAsync()
    {
        Say($"seed {Seed}");
        Variables["HIBP_STORAGE"] = (await StartEmulatorAsync(new AzuriteOptions { DataFolder = DataFolder })).ConnectionString;
        (Variables["HIBP_DATABASE"], Variables["HIBP_MAIL"]) = (File("hibp.db"), $"pickup:{File("mail")}");
    }

    public override async Task DisposeAsync()
    {
        foreach (var process in _processes)
            await process.DisposeAsync();
        foreach (var emulator in _emulators)
            await emulator.DisposeAsync();
        await base.DisposeAsync();
    }

    protected static int Size(int inShortForm, int inLongForm) => IsLong ? inLongForm : inShortForm;

    protected void Say(string line) => output.WriteLine(line);

    protected string File(string name) => Path.Combine(Folder.Path, name);

    private protected async Task<AzuriteEmulator> StartEmulatorAsync(AzuriteOptions options)
    {
        var emulator = await AzuriteEmulator.StartAsync(options, None);
        _emulators.Add(emulator);
        return emulator;
    }

    /// <summary>Starts a command as a process, and returns at once.</summary>
    protected HibpProcess Start(params string[] arguments) => Added(HibpProcess.Start(Folder.Path, Variables, arguments));

    protected async Task<HibpProcess> StartHostAsync(params string[] arguments) => Added(await StartAsync("ready", ["run", .. arguments]));

    protected async Task<HibpProcess> ServeAsync(params string[] arguments) =>
        Added(await StartAsync("ready", ["serve", "--urls", "http://127.0.0.1:0", .. arguments]));

    /// <summary>Runs a command that must succeed in this process; returns its output.</summary>
    protected async Task<string> SucceedAsync(params string[] arguments) => (await RunAsync(arguments)).Succeeded().Output;

    /// <param name="overlap">The percentage of accounts that are shared.</param>
    /// <param name="with">The seed of the sample that they are shared with.</param>
    protected void WriteSample(string name, int accounts, int seed, int overlap = 0, int with = 0)
    {
        using var file = System.IO.File.Create(File($"{name}.zip"));
        SampleBreach.Write(
            file, new SampleOptions { Accounts = accounts, Seed = seed, OverlapPercent = overlap, OverlapSeed = with }, None);
    }

    private protected SqliteBreachDatabase OpenDatabase() => SqliteBreachDatabase.Open(File("hibp.db"), TimeProvider.System);

    private protected PassedTime OpenPassedTime() => new(Variables["HIBP_STORAGE"], File("hibp.db"));

    /// <summary>Waits for a state of the loads that a host works on; none may fail.</summary>
    private protected static async Task WaitAsync(
        HibpProcess host, SqliteBreachDatabase database, Func<IReadOnlyList<Load>, bool> until)
    {
        for (var began = Stopwatch.GetTimestamp(); !until(await ListLoadsAsync(database)); await Task.Delay(PollInterval))
        {
            Assert.False(host.HasExited, $"hibp run ended: {host.Error}");
            Assert.True(Stopwatch.GetElapsedTime(began) < LoadTimeout, $"not loaded after {LoadTimeout}");
        }
    }

    /// <summary>Returns all loads; none may have failed.</summary>
    private protected static async Task<IReadOnlyList<Load>> ListLoadsAsync(SqliteBreachDatabase database)
    {
        var loads = await database.ListLoadsAsync(null, None);
        Assert.All(loads, load => Assert.True(load.State != LoadState.Failed, $"load {load.Id} of {load.Breach} failed: {load.Error}"));
        return loads;
    }

    private HibpProcess Added(HibpProcess process)
    {
        _processes.Add(process);
        return process;
    }
}
