using System.Buffers.Binary;
using System.Net.Sockets;

namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>
/// A proxy between driver and server that reads the TDS frames, and applies the test's faults to them. It needs
/// connections whose encryption ends with the login (<c>Encrypt=Optional</c>), because otherwise it couldn't
/// distinguish a commit from a select.
/// </summary>
internal sealed class TdsProxy : IAsyncDisposable
{
    private const int HeaderBytes = 8;
    private const int TlsHeaderBytes = 5;
    private const byte LastPacket = 1;
    private const int NotAvailable = 40613;

    private readonly LoopbackListener _listener;
    private readonly string _host;
    private readonly int _port;

    public TdsProxy(string host, int port)
    {
        (_host, _port) = (host, port);
        _listener = new LoopbackListener(ServeAsync);
    }

    public int Port => _listener.Port;

    /// <summary>Chooses the fault for each packet from the driver; called concurrently by several connections.</summary>
    public Func<TdsRequest, TdsFault> Decide { get; set; } = _ => TdsFault.None;

    /// <summary>Applies a fault to the nth packet of a kind from now on (1-based). The result tells whether it was applied.</summary>
    public Func<bool> Strike(TdsRequest kind, int nth, TdsFault fault)
    {
        var seen = 0;
        Decide = request => request == kind && Interlocked.Increment(ref seen) == nth ? fault : TdsFault.None;
        return () => Volatile.Read(ref seen) >= nth;
    }

    public ValueTask DisposeAsync() => _listener.DisposeAsync();

    private async Task ServeAsync(TcpClient driver, CancellationToken stopping)
    {
        using var cut = CancellationTokenSource.CreateLinkedTokenSource(stopping);
        using var server = new TcpClient();
        await server.ConnectAsync(_host, _port, cut.Token);
        driver.NoDelay = server.NoDelay = true;
        var connection = new Connection(driver.GetStream(), server.GetStream());
        var answering = AnswerAsync(connection, cut);
        try
        {
            await AskAsync(connection, cut.Token);
        }
        finally
        {
            await cut.CancelAsync();
            await answering;
        }
    }

    private async Task AskAsync(Connection connection, CancellationToken cancellationToken)
    {
        var packet = new byte[1 << 16];
        var continues = false;
        while (await ReadPacketAsync(connection.Driver, packet, cancellationToken) is > 0 and var length)
        {
            var request = Kind(packet.AsSpan(0, length), continues);
            continues = !IsTls(packet[0]) && (packet[1] & LastPacket) == 0;
            switch (Decide(request))
            {
                case TdsFault.None:
                    await connection.Server.WriteAsync(packet.AsMemory(0, length), cancellationToken);
                    break;
                case TdsFault.CutInside:
                    await connection.Server.WriteAsync(packet.AsMemory(0, length / 2), cancellationToken);
                    return;
                case TdsFault.CutBefore:
                    return;
                case TdsFault.CutAnswer:
                    connection.Swallow = true;
                    await connection.Server.WriteAsync(packet.AsMemory(0, length), cancellationToken);
                    await connection.Answered.Task.WaitAsync(cancellationToken);
                    return;
                case TdsFault.Silence:
                    connection.Swallow = true;
                    // Keeps reading, so that the driver can send until it gives up by itself.
                    while (await ReadPacketAsync(connection.Driver, packet, cancellationToken) > 0)
                    {
                    }
                    return;
                case TdsFault.RefuseLogin:
                    await connection.Driver.WriteAsync(Refusal(), cancellationToken);
                    return;
            }
        }
    }

    private static async Task AnswerAsync(Connection connection, CancellationTokenSource cut)
    {
        var buffer = new byte[1 << 16];
        try
        {
            while (await connection.Server.ReadAsync(buffer, cut.Token) is > 0 and var length)
            {
                if (connection.Swallow)
                    connection.Answered.TrySetResult();
                else
                    await connection.Driver.WriteAsync(buffer.AsMemory(0, length), cut.Token);
            }
            await cut.CancelAsync();
        }
        catch (Exception e) when (e is OperationCanceledException or IOException or SocketException)
        {
            await cut.CancelAsync();
        }
    }

    /// <summary>Reads one TDS packet, or one TLS record (the encrypted login is outside TDS's frames); returns 0 at the end.</summary>
    private static async Task<int> ReadPacketAsync(NetworkStream stream, byte[] packet, CancellationToken cancellationToken)
    {
        if (await stream.ReadAtLeastAsync(
            packet.AsMemory(0, TlsHeaderBytes), TlsHeaderBytes, throwOnEndOfStream: false, cancellationToken) < TlsHeaderBytes)
            return 0;
        var length = IsTls(packet[0]) ? TlsHeaderBytes + BinaryPrimitives.ReadUInt16BigEndian(packet.AsSpan(3))
            : BinaryPrimitives.ReadUInt16BigEndian(packet.AsSpan(2));
        await stream.ReadExactlyAsync(packet.AsMemory(TlsHeaderBytes, length - TlsHeaderBytes), cancellationToken);
        return length;
    }

    private static bool IsTls(byte first) => first is >= 0x14 and <= 0x17;

    private static TdsRequest Kind(ReadOnlySpan<byte> packet, bool continues) => packet[0] switch
    {
        0x10 or 0x17 => TdsRequest.Login,
        0x07 => TdsRequest.Rows,
        _ when continues => TdsRequest.Other,
        0x01 or 0x03 => TdsRequest.Statement,
        0x0E => Transaction(packet[HeaderBytes..]),
        _ => TdsRequest.Other,
    };

    private static TdsRequest Transaction(ReadOnlySpan<byte> body) =>
        BinaryPrimitives.ReadUInt16LittleEndian(body[BinaryPrimitives.ReadInt32LittleEndian(body)..]) switch
        {
            5 => TdsRequest.Begin,
            7 => TdsRequest.Commit,
            _ => TdsRequest.Other,
        };

    /// <summary>Returns a packet of type 4 with an ERROR and a DONE token (MS-TDS 2.2.7.10, 2.2.7.6).</summary>
    private static byte[] Refusal()
    {
        const string Message = "Database is not currently available.";
        var body = new List<byte>();
        body.AddRange(Bytes(NotAvailable));
        body.AddRange([1, 20]);
        body.AddRange(Short(Message.Length));
        body.AddRange(Encoding.Unicode.GetBytes(Message));
        body.AddRange([0, 0]);
        body.AddRange(Bytes(1));
        byte[] tokens = [0xAA, .. Short(body.Count), .. body, 0xFD, .. Short(2), .. Short(0), .. new byte[8]];
        var length = HeaderBytes + tokens.Length;
        return [4, LastPacket, (byte)(length >> 8), (byte)length, 0, 0, 1, 0, .. tokens];

        static byte[] Bytes(int value) => BitConverter.GetBytes(value);
        static byte[] Short(int value) => BitConverter.GetBytes((ushort)value);
    }

    private sealed class Connection(NetworkStream driver, NetworkStream server)
    {
        public NetworkStream Driver { get; } = driver;

        public NetworkStream Server { get; } = server;

        public volatile bool Swallow;

        /// <summary>Completes when the server has sent something after <see cref="Swallow"/> was set.</summary>
        public TaskCompletionSource Answered { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
