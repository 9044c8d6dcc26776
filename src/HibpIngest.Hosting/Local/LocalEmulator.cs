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
    /// <param name="cancellationToken">Stops it.</param>
    /// <param name="number">Which emulator: 1, or one that stands for another storage account of the store.</param>
    public async Task<EmulatorState> FindStateAsync(CancellationToken cancellationToken, int number = 1)
    {
        var states = await Task.WhenAll(
            Enumerable.Range(PortOf(number), Services).Select(port => FindStateAtAsync(port, cancellationToken)));
        return states.Contains(EmulatorState.Stopped) ? EmulatorState.Stopped : states.Max();
    }

    /// <summary>Starts it, with its data in <see cref="DataFolderOf"/>.</summary>
    /// <param name="progress">Told what takes long.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <param name="number">Which.</param>
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

    /// <summary>It accepts connections.</summary>
    Running,

    /// <summary>It runs, and accepts no connection in time.</summary>
    Busy,
}
