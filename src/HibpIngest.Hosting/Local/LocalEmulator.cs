using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using HibpIngest.AzureStorage;
using HibpIngest.Stores;

namespace HibpIngest.Hosting.Local;

/// <summary>
/// The storage emulator, which <c>UseDevelopmentStorage=true</c> stands for
/// (learn.microsoft.com/azure/storage/common/storage-use-azurite): its blobs, queues and tables are at three ports in a row.
/// </summary>
/// <param name="home">The folder of <see cref="HomeFolder"/>, in which it keeps its data.</param>
/// <param name="port">The first of them; those of further emulators are ten apart.</param>
public sealed class LocalEmulator(string home, int port = LocalEmulator.WellKnownPort)
{
    /// <summary>Where it is where nothing else is said.</summary>
    public const int WellKnownPort = 10000;

    /// <summary>Of the first, so that further ones have ports too.</summary>
    public const int HighestPort = 65_000;

    private const int Services = 3;

    /// <summary>What starts it again pauses for so long at most, and it takes seconds to load its data.</summary>
    private static readonly TimeSpan ComesBackWithin = TimeSpan.FromSeconds(60);

    private static readonly TimeSpan LookEvery = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// Loopback refuses at once. Where nothing is refused, something listens whose accept queue is full: connects are repeated after
    /// 1, 3 and 7 s.
    /// </summary>
    internal static readonly TimeSpan DefaultAcceptTimeout = TimeSpan.FromSeconds(10);

    /// <summary>Whether it is where every tool looks for it, so that <c>UseDevelopmentStorage=true</c> names it.</summary>
    public bool IsAtWellKnownPorts => port == WellKnownPort;

    /// <summary>Connection string of the first one.</summary>
    public string Connection => ConnectionOf(1);

    /// <summary>Whether a connection string is the emulator's, wherever its ports are.</summary>
    public static bool IsMeantBy(string connection) =>
        connection.Split(';').Any(pair => pair.Trim().Equals(PipelineSettings.DefaultStorage, StringComparison.OrdinalIgnoreCase));

    /// <summary>How long a connection may take to be accepted.</summary>
    internal TimeSpan AcceptTimeout { get; init; } = DefaultAcceptTimeout;

    /// <summary>What to say where one is needed that is <see cref="EmulatorState.Busy"/>.</summary>
    public string BusyMessage =>
        $"the storage emulator runs, but has accepted no connection within {AcceptTimeout.TotalSeconds:0.#} s: it is busy or stopped";

    /// <summary>Whether its three services accept connections.</summary>
    /// <param name="number">Which emulator: 1, or one that stands for another storage account of the store.</param>
    public async Task<EmulatorState> FindStateAsync(CancellationToken cancellationToken, int number = 1)
    {
        var states = await Task.WhenAll(
            Enumerable.Range(PortOf(number), Services).Select(port => FindStateAtAsync(port, cancellationToken)));
        return states.Contains(EmulatorState.Stopped) ? EmulatorState.Stopped : states.Max();
    }

    /// <summary>
    /// Whether its services accept connections, where one that ended may be about to be started again, as <c>hibp run</c> does, or one
    /// that ends still saves: that is waited for.
    /// </summary>
    /// <param name="progress">Told when there is something to wait for.</param>
    public async Task<EmulatorState> WaitForStateAsync(IProgress<string> progress, CancellationToken cancellationToken, int number = 1)
    {
        var began = Stopwatch.GetTimestamp();
        var isTold = false;
        while (true)
        {
            var isHeld = IsHeld(number);
            var state = await FindStateAsync(cancellationToken, number);
            if (state != EmulatorState.Stopped || !isHeld || Stopwatch.GetElapsedTime(began) > ComesBackWithin)
                return state;
            if (!isTold)
                progress.Report("waiting for the storage emulator, which another process is starting or stopping");
            isTold = true;
            await Task.Delay(LookEvery, cancellationToken);
        }
    }

    /// <summary>Starts it, with its data in <see cref="DataFolderOf"/>.</summary>
    public Task<AzuriteEmulator> StartAsync(IProgress<string> progress, CancellationToken cancellationToken, int number = 1) =>
        AzuriteEmulator.StartAsync(
        new AzuriteOptions
        {
            DataFolder = DataFolderOf(number),
            BlobPort = PortOf(number),
            QueuePort = PortOf(number) + 1,
            TablePort = PortOf(number) + 2,
            Progress = progress
        }, cancellationToken);

    /// <summary>Connections of those behind the first, by the data that is kept of them.</summary>
    public IReadOnlyList<string> Further() =>
        [.. Enumerable.Range(2, LayoutFacts.MaxStorageAccounts - 1).TakeWhile(number => Directory.Exists(DataFolderOf(number)))
            .Select(ConnectionOf)];

    /// <summary>Where the data of one of them is kept.</summary>
    public string DataFolderOf(int number) =>
        Path.Combine(home, number == 1 ? "azurite" : string.Create(CultureInfo.InvariantCulture, $"azurite-{number}"));

    /// <summary>Tells other processes that this one starts it again should it end, until what is returned is disposed of.</summary>
    /// <returns>null: another process does.</returns>
    internal IDisposable? TryHold(int number)
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

    private int PortOf(int number) => port + (10 * (number - 1));

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

/// <summary>How the storage emulator is.</summary>
public enum EmulatorState
{
    /// <summary>A connection to one of its ports is refused.</summary>
    Stopped,

    Running,

    /// <summary>It runs, and accepts no connection in time.</summary>
    Busy,
}
