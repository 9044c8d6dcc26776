using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace HibpIngest.Hosting;

/// <summary>
/// The storage emulator that <c>UseDevelopmentStorage=true</c> refers to (learn.microsoft.com/azure/storage/common/storage-use-azurite):
/// blobs, queues and tables are at three consecutive ports.
/// </summary>
/// <param name="home">The folder of <see cref="HomeFolder"/>, which contains its data.</param>
/// <param name="port">The first port; further emulators are ten ports apart.</param>
public sealed class LocalEmulator(string home, int port = LocalEmulator.WellKnownPort)
{
    public const int WellKnownPort = 10000;

    /// <summary>Highest first port, so that further emulators have ports too.</summary>
    public const int HighestPort = 65_000;

    private const int Services = 3;

    // A supervisor restarts it after a pause of at most 30 s, and loading its data takes seconds.
    private static readonly TimeSpan RestartTimeout = TimeSpan.FromSeconds(60);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);

    /// <summary>True if it uses the default ports, so that <c>UseDevelopmentStorage=true</c> connects to it.</summary>
    public bool IsAtWellKnownPorts => port == WellKnownPort;

    public string Connection => ConnectionOf(1);

    /// <summary>Returns whether a connection string refers to the emulator, at any ports.</summary>
    public static bool Matches(string connection) =>
        connection.Split(';').Any(pair => pair.Trim().Equals(PipelineSettings.DefaultStorage, StringComparison.OrdinalIgnoreCase));

    // Loopback refuses a connection at once. If it isn't refused, the accept queue of a listening process is full, and connects are
    // retried after 1, 3 and 7 s.
    internal TimeSpan AcceptTimeout { get; init; } = TimeSpan.FromSeconds(10);

    public string BusyMessage =>
        $"the storage emulator runs, but has accepted no connection within {AcceptTimeout.TotalSeconds:0.#} s: it is busy or stopped";

    /// <param name="number">1, or the number of an emulator that stands for a further storage account of the store.</param>
    public async Task<EmulatorState> FindStateAsync(CancellationToken cancellationToken, int number = 1)
    {
        var states = await Task.WhenAll(
            Enumerable.Range(PortOf(number), Services).Select(port => FindStateAtAsync(port, cancellationToken)));
        return states.Contains(EmulatorState.Stopped) ? EmulatorState.Stopped : states.Max();
    }

    /// <summary>Waits while an emulator that ended may be restarted, as by <c>hibp run</c>, or one that is ending still saves.</summary>
    /// <param name="progress">Receives a line if there is something to wait for.</param>
    public async Task<EmulatorState> WaitForStateAsync(IProgress<string> progress, CancellationToken cancellationToken, int number = 1)
    {
        var began = Stopwatch.GetTimestamp();
        var isReported = false;
        while (true)
        {
            var isHeld = IsHeld(number);
            var state = await FindStateAsync(cancellationToken, number);
            if (state != EmulatorState.Stopped || !isHeld || Stopwatch.GetElapsedTime(began) > RestartTimeout)
                return state;
            if (!isReported)
                progress.Report("waiting for the storage emulator, which another process is starting or stopping");
            isReported = true;
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    /// <summary>Returns the connection strings of the further emulators that have a data folder.</summary>
    public IReadOnlyList<string> Further() =>
        [.. Enumerable.Range(2, LayoutFacts.MaxStorageAccounts - 1).TakeWhile(number => Directory.Exists(DataFolderOf(number)))
            .Select(ConnectionOf)];

    public string DataFolderOf(int number) =>
        Path.Combine(home, number == 1 ? "azurite" : string.Create(CultureInfo.InvariantCulture, $"azurite-{number}"));

    /// <summary>Signals to other processes that this one restarts the emulator if it ends, until the result is disposed.</summary>
    /// <returns>Null if another process does.</returns>
    public IDisposable? TryHold(int number)
    {
        Directory.CreateDirectory(DataFolderOf(number));
        try
        {
            return new FileStream(HoldOf(number), FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (IOException)
        {
            return null;
        }
    }

    private string HoldOf(int number) => Path.Combine(DataFolderOf(number), "supervisor.lock");

    private bool IsHeld(int number)
    {
        try
        {
            using var file = new FileStream(HoldOf(number), FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            return false;
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException or UnauthorizedAccessException)
        {
            return false;
        }
        catch (IOException)
        {
            return true;
        }
    }

    public int PortOf(int number) => port + (10 * (number - 1));

    private string ConnectionOf(int number)
    {
        string At(int service) => string.Create(
            CultureInfo.InvariantCulture, $"http://127.0.0.1:{PortOf(number) + service}/{StorageAccount.EmulatorAccount}");
        return $"DefaultEndpointsProtocol=http;AccountName={StorageAccount.EmulatorAccount};AccountKey={StorageAccount.EmulatorKey};"
            + $"BlobEndpoint={At(0)};QueueEndpoint={At(1)};TableEndpoint={At(2)};";
    }

    private async Task<EmulatorState> FindStateAtAsync(int port, CancellationToken cancellationToken)
    {
        using var socket = new TcpClient(AddressFamily.InterNetwork);
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(AcceptTimeout);
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, port, timeout.Token);
            return EmulatorState.Running;
        }
        catch (SocketException e)
        {
            return e.SocketErrorCode == SocketError.TimedOut ? EmulatorState.Busy : EmulatorState.Stopped;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return EmulatorState.Busy;
        }
    }
}

public enum EmulatorState
{
    /// <summary>A connection to one of its ports is refused.</summary>
    Stopped,

    Running,

    /// <summary>The emulator runs, but accepts no connection in time.</summary>
    Busy,
}
