using System.Buffers.Binary;
using System.Net.Sockets;

namespace HibpIngest.Testing;

/// <summary>A DNS server (RFC 1035, over UDP) that knows TXT records only. It answers "no such domain" for all others.</summary>
internal sealed class DnsTestServer : IAsyncDisposable
{
    private readonly UdpClient _socket = new(new IPEndPoint(IPAddress.Loopback, 0));
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _serving;

    public DnsTestServer() => _serving = ServeAsync();

    /// <summary>Value of HIBP_DNS.</summary>
    public string Setting => _socket.Client.LocalEndPoint!.ToString()!;

    public ConcurrentDictionary<string, string[]> Records { get; } = new(StringComparer.OrdinalIgnoreCase);

    public bool IsDown { get; set; }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _serving;
        _socket.Dispose();
        _stop.Dispose();
    }

    private async Task ServeAsync()
    {
        try
        {
            while (true)
            {
                var question = await _socket.ReceiveAsync(_stop.Token);
                await _socket.SendAsync(AnswerTo(question.Buffer), question.RemoteEndPoint, _stop.Token);
            }
        }
        catch (OperationCanceledException)
        {
            // Stopped.
        }
    }

    private byte[] AnswerTo(byte[] question)
    {
        var (name, at) = (new List<string>(), 12);
        for (; question[at] > 0; at += question[at] + 1)
            name.Add(Encoding.ASCII.GetString(question, at + 1, question[at]));
        var end = at + 5;
        var texts = Records.GetValueOrDefault(string.Join('.', name)) ?? [];
        var answer = new List<byte>(question[..end]);
        // A response, recursion available; 2: failure, 3: no such domain.
        (answer[2], answer[3]) = (0x81, (byte)(0x80 | (IsDown ? 2 : texts.Length == 0 ? 3 : 0)));
        // One question, and no further records.
        for (var i = 4; i < 12; i++)
            answer[i] = (byte)(i == 5 ? 1 : i == 7 && !IsDown ? texts.Length : 0);
        foreach (var text in IsDown ? [] : texts)
        {
            // In pieces of at most 255 bytes.
            var pieces = Encoding.ASCII.GetBytes(text).Chunk(255).ToList();
            var head = new byte[12];
            BinaryPrimitives.WriteUInt16BigEndian(head, 0xC00C);
            BinaryPrimitives.WriteUInt16BigEndian(head.AsSpan(2), 16);
            BinaryPrimitives.WriteUInt16BigEndian(head.AsSpan(4), 1);
            BinaryPrimitives.WriteUInt16BigEndian(head.AsSpan(10), (ushort)pieces.Sum(piece => piece.Length + 1));
            answer.AddRange(head);
            foreach (var piece in pieces)
                answer.AddRange([(byte)piece.Length, .. piece]);
        }
        return [.. answer];
    }
}
