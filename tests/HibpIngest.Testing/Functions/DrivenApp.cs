using Azure.Storage.Blobs;
using Azure.Storage.Queues;

namespace HibpIngest.Testing;

/// <summary>The pipeline's Functions app, driven by the trigger listeners alone or by a whole Functions host.</summary>
internal abstract class DrivenApp : IAsyncDisposable
{
    /// <summary>Names the start script of a real host, called as <c>SCRIPT APPDIR --port N</c>.</summary>
    public const string HostVariable = "HIBP_FUNCTIONS_HOST";

    /// <summary>The available drivers: <c>listeners</c>, and <c>host</c> if one is configured.</summary>
    public static IReadOnlyList<string> Drivers { get; } = FindDrivers();

    public abstract string Storage { get; }

    public abstract string DatabaseFile { get; }

    public abstract string MailFolder { get; }

    /// <summary>All output of host and worker, on the console and in files.</summary>
    public abstract string Said { get; }

    public BlobContainerClient Container => new(Storage, "breach");

    public static async Task<DrivenApp> StartAsync(string driver, params (string Name, string Value)[] settings) =>
        await StartAsync(driver, await AzuriteFixture.NewAccountAsync(), settings);

    /// <param name="driver">One of <see cref="Drivers"/>.</param>
    public static async Task<DrivenApp> StartAsync(string driver, string storage, params (string Name, string Value)[] settings)
    {
        var all = settings.ToDictionary(setting => setting.Name, setting => setting.Value);
        return driver == "host" ? await RealHost.StartAsync(storage, all) : await ListenedApp.StartAsync(storage, all);
    }

    public abstract Task<HibpResult> HibpAsync(params string[] arguments);

    public abstract Task PostEventAsync(string blob);

    public abstract Task<int> FindWorkerAsync();

    /// <summary>Kills the worker with SIGKILL; the host starts another.</summary>
    public abstract Task CrashWorkerAsync();

    /// <summary>Kills the host with SIGKILL, and starts another; the old worker keeps running.</summary>
    public abstract Task CrashHostAsync();

    /// <summary>Stops the instance with SIGTERM, and waits for its end.</summary>
    public abstract Task StopAsync();

    public abstract Task StartNextAsync();

    public abstract Task StartNextElsewhereAsync();

    /// <summary>Starts the next instance, in whose worker memory seems exhausted whenever a function works.</summary>
    public abstract Task StartNextWithoutMemoryAsync();

    public QueueClient Queue(string name) => new(Storage, name);

    public async Task DropAsync(string blob, byte[] content)
    {
        await Container.UploadBlobAsync(blob, new BinaryData(content));
        await PostEventAsync(blob);
    }

    public abstract ValueTask DisposeAsync();

    /// <param name="folder">The folder of its database and mails.</param>
    /// <param name="more">More settings, which override the others.</param>
    public static Dictionary<string, string> SettingsOf(string storage, string folder, IReadOnlyDictionary<string, string> more)
    {
        var settings = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = storage,
            ["BreachStorage"] = storage,
            ["AzureWebJobsStorage"] = storage,
            ["HIBP_DATABASE"] = Path.Combine(folder, "hibp.db"),
            ["HIBP_MAIL"] = $"pickup:{Path.Combine(folder, "mail")}",
            ["HIBP_MAILSPERSECOND"] = "10000",
            ["HIBP_DEDUPECAP"] = "1000000",
            // Ranges cost the emulator a request per account; only one test turns them on.
            ["HIBP_RANGES"] = "off",
        };
        foreach (var (name, value) in more)
            settings[name] = value;
        return settings;
    }

    private static IReadOnlyList<string> FindDrivers()
    {
        if (Environment.GetEnvironmentVariable(HostVariable) is { Length: > 0 })
            return ["listeners", "host"];
        Console.WriteLine($"  ==== Functions apps: under the trigger listeners ONLY. Set {HostVariable} to a host's start script to run "
            + "the same cases on a real host ====");
        return ["listeners"];
    }
}

internal sealed class ListenedApp : DrivenApp
{
    // A real host sweeps every minute.
    private static readonly TimeSpan SweepEvery = TimeSpan.FromSeconds(5);

    private readonly FunctionsHost _host;
    private TriggerListeners _listeners;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _timer;

    private ListenedApp(FunctionsHost host, TriggerListeners listeners)
    {
        (_host, _listeners) = (host, listeners);
        _timer = SweepUntilStopAsync();
    }

    public override string Storage => _host.Storage;

    public override string DatabaseFile => _host.DatabaseFile;

    public override string MailFolder => _host.MailFolder;

    public override string Said => _host.Said;

    public static async Task<ListenedApp> StartAsync(string storage, IReadOnlyDictionary<string, string> settings)
    {
        var host = await FunctionsHost.StartAsync(settings, storage: storage);
        return new ListenedApp(host, await TriggerListeners.StartAsync(host));
    }

    public override Task<HibpResult> HibpAsync(params string[] arguments) => _host.HibpAsync(arguments);

    public override Task PostEventAsync(string blob) =>
        _listeners.PostEventAsync(Container.GetBlobClient(blob).Uri, Container.Name, blob);

    public override Task<int> FindWorkerAsync() => Task.FromResult(_host.Worker.ProcessId);

    public override async Task CrashWorkerAsync()
    {
        await _host.EndWorkerAsync(_host.Worker.KillAsync);
        await StartNextAsync();
    }

    /// <summary>The listeners live in the test's process: they stop after their worker has ended, and new ones start.</summary>
    public override async Task CrashHostAsync()
    {
        await CrashWorkerAsync();
        await _listeners.DisposeAsync();
        _listeners = await TriggerListeners.StartAsync(_host);
    }

    public override Task StopAsync() => _host.EndWorkerAsync(_host.StopWorkerAsync);

    public override Task StartNextAsync() => _host.StartNextWorkerAsync((StartupHook.Variable, ""));

    // Listeners keep no state under the app's folder, so this is equivalent.
    public override Task StartNextElsewhereAsync() => StartNextAsync();

    public override Task StartNextWithoutMemoryAsync() => _host.StartNextWorkerAsync((StartupHook.Variable, StartupHook.File));

    public override async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _timer;
        await _listeners.DisposeAsync();
        await _host.DisposeAsync();
        _stop.Dispose();
    }

    private async Task SweepUntilStopAsync()
    {
        using var timer = new PeriodicTimer(SweepEvery);
        try
        {
            do
            {
                await _host.Ready.WaitAsync(_stop.Token);
                await _host.InvokeTimerAsync();
            }
            while (await timer.WaitForNextTickAsync(_stop.Token));
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            // The host is stopping.
        }
    }
}
