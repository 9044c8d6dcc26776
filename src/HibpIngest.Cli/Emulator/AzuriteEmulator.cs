using System.Diagnostics;
using System.Text.RegularExpressions;
using HibpIngest.Storage.Azure;

namespace HibpIngest.Cli.Emulator;

/// <summary>
/// The storage emulator (Azurite) as a child process on loopback. It is installed from the program's embedded lock file if missing, is
/// ready when <see cref="StartAsync"/> returns, and ends with <see cref="DisposeAsync"/> or with this process, even if that is killed.
/// Needs Node 20 or later on the path.
/// </summary>
internal sealed partial class AzuriteEmulator : IAsyncDisposable
{
    public const string FolderVariable = "HIBP_EMULATOR_DIR";

    // Preloaded, from the package's folder.
    private static readonly string[] Scripts =
        ["unused-modules.cjs", "stop-with-parent.cjs", "indexed-lookups.cjs", "indexed-removals.cjs", "paced-saves.cjs",
            "cheaper-requests.cjs", "encoded-names.cjs"];

    // It usually starts in one to two seconds; a busy machine takes longer.
    private static readonly TimeSpan StartTimeout = TimeSpan.FromSeconds(60);

    // For saving its data; after it, the process is killed.
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(20);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);
    private static readonly string[] Services = ["Blob", "Queue", "Table"];

    // A process that was ended by a signal has this plus the signal's number as exit code.
    private const int SignalBase = 128;

    private readonly Process _process;
    private readonly FileStream? _folderLock;
    private readonly Dictionary<string, string> _addresses = new(StringComparer.Ordinal);
    private readonly TaskCompletionSource _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<string> _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _gate = new();
    private string _lastError = "";
    private int _disposed;

    private AzuriteEmulator(Process process, FileStream? folderLock) => (_process, _folderLock) = (process, folderLock);

    public string ConnectionString => GetConnectionString(0);

    public int ProcessId { get; private set; }

    /// <summary>Completes when the emulator has ended, for any reason, with a description: <c>ended with signal 9</c>.</summary>
    public Task<string> Ended => _ended.Task;

    public static bool IsInstalled() => File.Exists(ServerScript(EmulatorPackage.Folder));

    /// <param name="account">0 for the well-known account, 1 to <see cref="AzuriteOptions.ExtraAccounts"/> for the extra ones.</param>
    public string GetConnectionString(int account)
    {
        var name = AccountName(account);
        return $"DefaultEndpointsProtocol=http;AccountName={name};AccountKey={StorageAccount.EmulatorKey};"
            + $"BlobEndpoint={_addresses["Blob"]}/{name};"
            + $"QueueEndpoint={_addresses["Queue"]}/{name};TableEndpoint={_addresses["Table"]}/{name};";
    }

    public static async Task<AzuriteEmulator> StartAsync(AzuriteOptions options, CancellationToken cancellationToken)
    {
        var folder = EmulatorPackage.Folder;
        EmulatorPackage.Unpack(folder);
        await NodePackages.InstallAsync(folder, "the storage emulator", ServerScript(folder), options.Progress, cancellationToken);

        // In memory mode it needs a working directory too, but writes nothing to it.
        var workingFolder = Path.GetTempPath();
        FileStream? folderLock = null;
        if (options.DataFolder is not null)
        {
            workingFolder = Directory.CreateDirectory(options.DataFolder).FullName;
            folderLock = await LockAsync(workingFolder, cancellationToken);
        }

        var start = NodePackages.Command(
            "node",
            [
                .. Scripts.SelectMany(script => (string[])["--require", Path.Combine(folder, script)]),
                ServerScript(folder),
                // Port 0: the system picks a free one, which the emulator prints.
                "--blobPort", PortText(options.BlobPort), "--queuePort", PortText(options.QueuePort),
                "--tablePort", PortText(options.TablePort),
                // The default of 5 s closes connections that clients are about to reuse.
                "--blobKeepAliveTimeout", "120", "--queueKeepAliveTimeout", "120", "--tableKeepAliveTimeout", "120",
                "--disableTelemetry", "--skipApiVersionCheck", "--silent",
                .. options.DataFolder is null ? (string[])["--inMemoryPersistence"] : [],
            ],
            workingFolder);
        if (options.ExtraAccounts > 0)
            start.Environment["AZURITE_ACCOUNTS"] = string.Join(
                ';', Enumerable.Range(0, options.ExtraAccounts + 1).Select(i => $"{AccountName(i)}:{StorageAccount.EmulatorKey}"));
        else
            start.Environment.Remove("AZURITE_ACCOUNTS");

        var emulator = new AzuriteEmulator(new Process { StartInfo = start, EnableRaisingEvents = true }, folderLock);
        try
        {
            emulator.Launch();
            await emulator._ready.Task.WaitAsync(StartTimeout, cancellationToken);
            return emulator;
        }
        catch (Exception e)
        {
            await emulator.DisposeAsync();
            if (e is TimeoutException)
                throw new NotPossibleException(
                    $"the storage emulator did not start within {StartTimeout.TotalSeconds:0} seconds: {emulator._lastError}; run: "
                    + "hibp doctor");
            throw;
        }
    }

    /// <summary>Ends the emulator: at once if its data is in memory, else after it has saved.</summary>
    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _disposed, 1) != 0)
            return;
        if (ProcessId != 0)
        {
            if (_folderLock is not null)
            {
                // The emulator saves and stops when its standard input ends.
                _process.StandardInput.Close();
                using var timeout = new CancellationTokenSource(StopTimeout);
                await _process.WaitForExitAsync(timeout.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }

            if (!_process.HasExited)
                _process.Kill();
            await Ended;
        }

        var folder = _process.StartInfo.WorkingDirectory;
        _process.Dispose();
        if (_folderLock is not null)
        {
            // If root ran the emulator, as for a restore, the files must still belong to the service's user, who runs the next one.
            foreach (var path in Directory.EnumerateFileSystemEntries(folder, "*", SearchOption.AllDirectories))
                UnixFiles.CopyOwner(folder, path);
            await _folderLock.DisposeAsync();
        }
    }

    // Two emulators with one folder would overwrite each other's data. One that is stopping still saves after its ports are free.
    private static async Task<FileStream> LockAsync(string folder, CancellationToken cancellationToken)
    {
        var began = Stopwatch.GetTimestamp();
        while (true)
        {
            try
            {
                return new FileStream(
                    Path.Combine(folder, "emulator.lock"), FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
            }
            catch (IOException) when (Stopwatch.GetElapsedTime(began) < StopTimeout)
            {
                await Task.Delay(PollInterval, cancellationToken);
            }
            catch (IOException)
            {
                throw new NotPossibleException(
                    $"another emulator uses the data folder {folder}: stop the command that started it, or set HIBP_HOME to another");
            }
        }
    }

    private static string PortText(int? port) => (port ?? 0).ToString(CultureInfo.InvariantCulture);

    private static string AccountName(int account) =>
        account == 0 ? StorageAccount.EmulatorAccount : string.Create(CultureInfo.InvariantCulture, $"teststore{account}");

    private static string ServerScript(string folder) => Path.Combine(folder, "node_modules", "azurite", "dist", "src", "azurite.js");

    private void Launch()
    {
        _process.OutputDataReceived += (_, e) => OnOutput(e.Data);
        _process.ErrorDataReceived += (_, e) =>
        {
            if (!string.IsNullOrWhiteSpace(e.Data))
                _lastError = e.Data.Trim();
        };
        NodePackages.Start(_process, "the storage emulator", "set HIBP_STORAGE to a storage account");
        ProcessId = _process.Id;
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
        _ = WatchAsync();
    }

    private async Task WatchAsync()
    {
        await _process.WaitForExitAsync(CancellationToken.None).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _ready.TrySetException(
            new NotPossibleException($"the storage emulator did not start: {(_lastError.Length == 0 ? "it ended at once" : _lastError)}"));
        var code = _process.ExitCode;
        _ended.TrySetResult(code > SignalBase ? $"ended with signal {code - SignalBase}" : $"ended with exit code {code}");
    }

    private void OnOutput(string? line)
    {
        if (line is null || ListeningLine().Match(line) is not { Success: true } match)
            return;
        lock (_gate)
        {
            _addresses[match.Groups["service"].Value] = match.Groups["address"].Value;
            if (Services.All(_addresses.ContainsKey))
                _ready.TrySetResult();
        }
    }

    [GeneratedRegex(
        @"^Azurite (?<service>\w+) service is successfully listening at (?<address>http://\S+)$", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex ListeningLine();
}

internal sealed class AzuriteOptions
{
    /// <summary>Data folder, created if missing. If null, data is in memory, and lost when the emulator ends.</summary>
    public string? DataFolder { get; init; }

    /// <summary>Loopback port. Null for a free one. The same applies to the next two.</summary>
    public int? BlobPort { get; init; }
    public int? QueuePort { get; init; }
    public int? TablePort { get; init; }

    /// <summary>Storage accounts in addition to the well-known one, for tests that need one each.</summary>
    public int ExtraAccounts { get; init; }

    public IProgress<string>? Progress { get; init; }
}
