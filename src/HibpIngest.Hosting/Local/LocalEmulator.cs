using System.Globalization;
using System.Net;
using System.Net.Sockets;
using HibpIngest.AzureStorage;
using HibpIngest.Stores;

namespace HibpIngest.Hosting.Local;

/// <summary>
/// The storage emulator at its well-known ports, which <c>UseDevelopmentStorage=true</c> stands for
/// (learn.microsoft.com/azure/storage/common/storage-use-azurite).
/// </summary>
public static class LocalEmulator
{
    private const int BlobPort = 10000;
    private const int QueuePort = 10001;
    private const int TablePort = 10002;

    private static readonly int[] Ports = [BlobPort, QueuePort, TablePort];

    /// <summary>Loopback answers at once or not at all.</summary>
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(2);

    /// <summary>Where its data is kept.</summary>
    public static readonly string DataFolder = Path.Combine(".hibp", "azurite");

    /// <summary>Whether a connection string is the emulator's.</summary>
    public static bool IsMeantBy(string connection) =>
        connection.Split(';').Any(pair => pair.Trim().Equals("UseDevelopmentStorage=true", StringComparison.OrdinalIgnoreCase));

    /// <summary>Whether its three services accept connections.</summary>
    /// <param name="cancellationToken">Stops it.</param>
    /// <param name="number">Which emulator: 1, or one that stands for another storage account of the store.</param>
    public static async Task<bool> AnswersAsync(CancellationToken cancellationToken, int number = 1)
    {
        foreach (var port in Ports)
        {
            if (!await AnswersAsync(port + PortsApart(number), cancellationToken))
                return false;
        }
        return true;
    }

    /// <summary>Starts it, with its data under <see cref="DataFolder"/>.</summary>
    /// <param name="progress">Told what takes long.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <param name="number">Which.</param>
    public static Task<AzuriteEmulator> StartAsync(IProgress<string> progress, CancellationToken cancellationToken, int number = 1) =>
        AzuriteEmulator.StartAsync(
        new AzuriteOptions
        {
            DataFolder = DataFolderOf(number),
            BlobPort = BlobPort + PortsApart(number),
            QueuePort = QueuePort + PortsApart(number),
            TablePort = TablePort + PortsApart(number),
            Progress = progress
        }, cancellationToken);

    /// <summary>Connections of those behind the first, by the data that is kept of them.</summary>
    public static IReadOnlyList<string> Further() =>
        [.. Enumerable.Range(2, LayoutFacts.MaxStorageAccounts - 1).TakeWhile(number => Directory.Exists(DataFolderOf(number)))
            .Select(ConnectionOf)];

    /// <summary>Where the data of one of them is kept.</summary>
    public static string DataFolderOf(int number) =>
        number == 1 ? DataFolder : string.Create(CultureInfo.InvariantCulture, $"{DataFolder}-{number}");

    private static int PortsApart(int number) => 10 * (number - 1);

    private static string ConnectionOf(int number)
    {
        string At(int port) => string.Create(
            CultureInfo.InvariantCulture, $"http://127.0.0.1:{port + PortsApart(number)}/{StorageAccount.EmulatorAccount}");
        return $"DefaultEndpointsProtocol=http;AccountName={StorageAccount.EmulatorAccount};AccountKey={StorageAccount.EmulatorKey};"
            + $"BlobEndpoint={At(BlobPort)};QueueEndpoint={At(QueuePort)};TableEndpoint={At(TablePort)};";
    }

    private static async Task<bool> AnswersAsync(int port, CancellationToken cancellationToken)
    {
        using var socket = new TcpClient(AddressFamily.InterNetwork);
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(AnswerTimeout);
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, port, timeout.Token);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return false;
        }
    }
}
