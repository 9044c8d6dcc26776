using System.Net;
using System.Net.Sockets;

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
    public static async Task<bool> AnswersAsync(CancellationToken cancellationToken)
    {
        foreach (var port in Ports)
        {
            if (!await AnswersAsync(port, cancellationToken))
                return false;
        }
        return true;
    }

    /// <summary>Starts it, with its data under <see cref="DataFolder"/>.</summary>
    public static Task<AzuriteEmulator> StartAsync(IProgress<string> progress, CancellationToken cancellationToken) =>
        AzuriteEmulator.StartAsync(
        new AzuriteOptions
        {
            DataFolder = DataFolder,
            BlobPort = BlobPort,
            QueuePort = QueuePort,
            TablePort = TablePort,
            Progress = progress
        }, cancellationToken);

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
