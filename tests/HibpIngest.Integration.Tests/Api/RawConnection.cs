using System.Net.Sockets;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>A client that sends requests verbatim, one after another, and reconnects if the server closed the connection.</summary>
internal sealed class RawConnection(int port) : IDisposable
{
    private const int MaxHeaderBytes = 16_384;

    /// <summary>Longer than the server waits for its stores (30 s for the access log): a hanging store shows as its 503.</summary>
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(60);

    private readonly byte[] _byte = new byte[1];
    private TcpClient? _client;
    private BufferedStream _from = null!;

    /// <summary>Returns the response. A connection that the server closed after the previous request doesn't count as one.</summary>
    public async Task<(int Status, string Head, string Body)> AskAsync(byte[] request)
    {
        if (_client is not null)
        {
            try
            {
                return await AskOnceAsync(request);
            }
            catch (IOException)
            {
                Close();
            }
        }
        return await AskOnceAsync(request);
    }

    public void Dispose() => Close();

    private async Task<(int Status, string Head, string Body)> AskOnceAsync(byte[] request)
    {
        using var timeout = new CancellationTokenSource(AnswerTimeout);
        if (_client is null)
        {
            _client = new TcpClient(AddressFamily.InterNetwork) { NoDelay = true };
            await _client.ConnectAsync(IPAddress.Loopback, port, timeout.Token);
            _from = new BufferedStream(_client.GetStream(), 4_096);
        }
        try
        {
            await _client.GetStream().WriteAsync(request, timeout.Token);
        }
        catch (IOException)
        {
            // Refused before all of it was sent: the response says why.
        }
        var head = await ReadHeadAsync(timeout.Token);
        var status = int.Parse(head.AsSpan("HTTP/1.1 ".Length, 3), CultureInfo.InvariantCulture);
        var body = status is 204 or 304 ? "" : await ReadBodyAsync(head, timeout.Token);
        // The unread rest of a body would be taken for the next request.
        if (status >= 400 || Header(head, "Connection") == "close")
            Close();
        return (status, head, body);
    }

    private void Close()
    {
        _client?.Dispose();
        _client = null;
    }

    private async Task<string> ReadHeadAsync(CancellationToken cancellationToken)
    {
        var head = new StringBuilder();
        while (head.Length < MaxHeaderBytes)
        {
            var line = await ReadLineAsync(cancellationToken);
            head.Append(line).Append("\r\n");
            if (line.Length == 0)
                return head.ToString();
        }
        throw new InvalidDataException("the answer's headers don't end");
    }

    private async Task<string> ReadBodyAsync(string head, CancellationToken cancellationToken)
    {
        if (Header(head, "Content-Length") is { } length)
            return await ReadAsync(int.Parse(length, CultureInfo.InvariantCulture), cancellationToken);
        if (Header(head, "Transfer-Encoding") != "chunked")
            return "";
        var body = new StringBuilder();
        while (true)
        {
            var size = await ReadLineAsync(cancellationToken);
            var chunk = await ReadAsync(
                int.Parse(size, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture), cancellationToken);
            if ((await ReadLineAsync(cancellationToken)).Length > 0)
                throw new InvalidDataException($"a chunk of the answer doesn't end after 0x{size} bytes");
            if (chunk.Length == 0)
                return body.ToString();
            body.Append(chunk);
        }
    }

    private async Task<string> ReadAsync(int length, CancellationToken cancellationToken)
    {
        var bytes = new byte[length];
        await _from.ReadExactlyAsync(bytes, cancellationToken);
        return Encoding.UTF8.GetString(bytes);
    }

    /// <summary>Reads a line. It must end with CR LF, and contain neither of them alone.</summary>
    private async Task<string> ReadLineAsync(CancellationToken cancellationToken)
    {
        var line = new StringBuilder();
        while (line.Length < MaxHeaderBytes)
        {
            if (await _from.ReadAsync(_byte, cancellationToken) == 0)
                throw new IOException($"the server ended the connection in the middle of an answer: '{line}'");
            var isAfterReturn = line.Length > 0 && line[^1] == '\r';
            if (isAfterReturn != (_byte[0] == '\n'))
                throw new InvalidDataException($"the answer has a CR or an LF alone: '{line}'");
            if (isAfterReturn)
                return line.ToString(0, line.Length - 1);
            line.Append((char)_byte[0]);
        }
        throw new InvalidDataException("a line of the answer doesn't end");
    }

    private static string? Header(string head, string name) =>
        head.Split("\r\n").FirstOrDefault(line => line.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))?[(name.Length + 1)..]
            .Trim();
}
