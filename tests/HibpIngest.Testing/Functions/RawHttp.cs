using System.Net.Sockets;

namespace HibpIngest.Testing;

/// <summary>Sends a request byte for byte as written, which HTTP clients don't.</summary>
internal static class RawHttp
{
    private const int ChunkBytes = 16 * 1024;

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(1);

    /// <summary>Sends a request, and reads the response. A server may respond before it has received the whole body.</summary>
    public static async Task<RawAnswer> SendAsync(Uri server, RecordedRequest request)
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        using var socket = new TcpClient();
        await socket.ConnectAsync(IPAddress.Loopback, server.Port, timeout.Token);
        var stream = socket.GetStream();
        var head = $"{request.Method} {request.Target} HTTP/1.1\r\n"
            + string.Concat(request.Headers.Select(header => $"{header.Name}: {header.Value}\r\n")) + "\r\n";
        await stream.WriteAsync(Encoding.Latin1.GetBytes(head), timeout.Token);
        var sending = SendBodyAsync(stream, request, timeout.Token);
        var answer = await ReadAsync(stream, request.Method, timeout.Token);
        socket.Close();
        await sending;
        return answer;
    }

    private static async Task SendBodyAsync(NetworkStream stream, RecordedRequest request, CancellationToken cancellationToken)
    {
        var isChunked = request.Header("Transfer-Encoding") == "chunked";
        try
        {
            for (var sent = 0; sent < request.BodyLength;)
            {
                var part = request.Body is null
                    ? new byte[Math.Min(ChunkBytes, request.BodyLength - sent)] : Encoding.UTF8.GetBytes(request.Body);
                if (isChunked)
                    await stream.WriteAsync(Encoding.ASCII.GetBytes($"{part.Length:x}\r\n"), cancellationToken);
                await stream.WriteAsync(part, cancellationToken);
                if (isChunked)
                    await stream.WriteAsync("\r\n"u8.ToArray(), cancellationToken);
                sent += part.Length;
            }
            if (isChunked)
                await stream.WriteAsync("0\r\n\r\n"u8.ToArray(), cancellationToken);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // The server closed the connection before the end of the body; its response says why.
        }
    }

    private static async Task<RawAnswer> ReadAsync(NetworkStream stream, string method, CancellationToken cancellationToken)
    {
        var head = new List<byte>();
        var one = new byte[1];
        while (!head.TakeLast(4).SequenceEqual("\r\n\r\n"u8.ToArray()))
        {
            if (await stream.ReadAsync(one, cancellationToken) == 0)
                throw new InvalidOperationException($"closed behind '{Encoding.Latin1.GetString([.. head])}'");
            head.Add(one[0]);
        }
        var lines = Encoding.Latin1.GetString([.. head]).Split("\r\n", StringSplitOptions.RemoveEmptyEntries);
        var length = lines.FirstOrDefault(line => line.StartsWith("Content-Length: ", StringComparison.OrdinalIgnoreCase)) is { } line
            ? int.Parse(line.Split(' ')[1], CultureInfo.InvariantCulture) : 0;
        var body = new byte[method == "HEAD" ? 0 : length];
        await stream.ReadExactlyAsync(body, cancellationToken);
        return new RawAnswer(
            int.Parse(lines[0].Split(' ')[1], CultureInfo.InvariantCulture), Encoding.UTF8.GetString(body),
            lines.Contains("Connection: close", StringComparer.OrdinalIgnoreCase));
    }
}

/// <summary>A response, and whether it announced that the connection closes.</summary>
internal sealed record RawAnswer(int Status, string Body, bool IsLast);
