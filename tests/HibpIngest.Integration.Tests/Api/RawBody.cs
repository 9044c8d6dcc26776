using System.Net.Sockets;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>A client that sends part of a request, and then stops.</summary>
internal sealed class RawBody : IDisposable
{
    private readonly TcpClient _client = new(AddressFamily.InterNetwork) { NoDelay = true };

    public RawBody(int port) => _client.Connect(IPAddress.Loopback, port);

    public Task SendAsync(string text) => _client.GetStream().WriteAsync(Encoding.ASCII.GetBytes(text)).AsTask();

    /// <summary>Reads until the server closes the connection.</summary>
    public async Task<string> ReadToEndAsync()
    {
        // The stream stays open: another thread may be sending.
        using var reader = new StreamReader(_client.GetStream(), Encoding.ASCII, leaveOpen: true);
        var said = new StringBuilder();
        var buffer = new char[1_024];
        try
        {
            while (await reader.ReadAsync(buffer) is > 0 and var read)
                said.Append(buffer, 0, read);
        }
        catch (IOException)
        {
            // A reset also counts as closed.
        }
        return said.ToString();
    }

    public void Dispose() => _client.Dispose();
}
