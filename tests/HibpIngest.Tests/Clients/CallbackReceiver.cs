using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Tests.Clients;

/// <summary>A callback receiver on a free port of 127.0.0.1: records requests, and sends the test's response byte for byte.</summary>
internal sealed class CallbackReceiver : IAsyncDisposable
{
    public const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    private readonly LoopbackListener _listener;
    private int _connections;

    public CallbackReceiver() => _listener = new LoopbackListener(ServeAsync);

    public int Port => _listener.Port;

    /// <summary>Set for TLS.</summary>
    public X509Certificate2? Certificate { get; init; }

    /// <summary>Handles a call; if it returns false, the connection is closed.</summary>
    public Func<ReceivedCall, Stream, CancellationToken, Task<bool>> Answer { get; init; } = Says(Ok);

    /// <summary>Returns a receiver with this response to every call.</summary>
    public static CallbackReceiver Saying(string answer, bool keeps = true) => new() { Answer = Says(answer, keeps) };

    public ConcurrentQueue<ReceivedCall> Calls { get; } = new();

    public int Connections => Volatile.Read(ref _connections);

    public static Func<ReceivedCall, Stream, CancellationToken, Task<bool>> Says(string answer, bool keeps = true) =>
        async (_, stream, cancellationToken) =>
        {
            await stream.WriteAsync(Encoding.Latin1.GetBytes(answer), cancellationToken);
            return keeps;
        };

    public ValueTask DisposeAsync() => _listener.DisposeAsync();

    private async Task ServeAsync(TcpClient client, CancellationToken cancellationToken)
    {
        var number = Interlocked.Increment(ref _connections);
        Stream stream = client.GetStream();
        if (Certificate is not null)
        {
            var tls = new SslStream(stream);
            await tls.AuthenticateAsServerAsync(new SslServerAuthenticationOptions { ServerCertificate = Certificate }, cancellationToken);
            stream = tls;
        }
        await using var ours = stream;
        while (await ReadAsync(number, stream, cancellationToken) is { } call)
        {
            Calls.Enqueue(call);
            if (!await Answer(call, stream, cancellationToken))
                return;
        }
    }

    private static async Task<ReceivedCall?> ReadAsync(int number, Stream stream, CancellationToken cancellationToken)
    {
        var head = new StringBuilder();
        var one = new byte[1];
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            if (await stream.ReadAsync(one, cancellationToken) == 0)
                return null;
            head.Append((char)one[0]);
        }
        string[] lines = [.. head.ToString().Split("\r\n", StringSplitOptions.RemoveEmptyEntries)];
        const string length = "Content-Length: ";
        var body = new byte[int.Parse(lines.Single(line => line.StartsWith(length, StringComparison.Ordinal)).AsSpan(length.Length))];
        await stream.ReadExactlyAsync(body, cancellationToken);
        return new ReceivedCall(number, lines, Encoding.UTF8.GetString(body));
    }
}

/// <param name="Connection">Its number, 1-based.</param>
/// <param name="Lines">Request line and headers.</param>
internal sealed record ReceivedCall(int Connection, string[] Lines, string Body);
