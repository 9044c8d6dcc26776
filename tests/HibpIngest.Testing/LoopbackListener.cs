using System.Net.Sockets;
using System.Security.Authentication;

namespace HibpIngest.Testing;

/// <summary>Serves TCP clients on a free port of 127.0.0.1, each in a task of its own.</summary>
internal sealed class LoopbackListener : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentBag<Task> _serving = [];
    private readonly Task _accepting;

    /// <param name="serve">Serves a client, which is closed afterwards. It may throw if the client has disconnected.</param>
    public LoopbackListener(Func<TcpClient, CancellationToken, Task> serve)
    {
        _listener.Start();
        _accepting = AcceptAsync(serve);
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        // Before the listener stops: the loop may be between two clients, and a stopped listener can't accept the next one.
        await _accepting;
        _listener.Dispose();
        await Task.WhenAll(_serving);
        _stop.Dispose();
    }

    private async Task AcceptAsync(Func<TcpClient, CancellationToken, Task> serve)
    {
        try
        {
            while (true)
                _serving.Add(ServeAsync(await _listener.AcceptTcpClientAsync(_stop.Token), serve));
        }
        catch (Exception e) when (e is OperationCanceledException or SocketException)
        {
            // The test is over.
        }
    }

    private async Task ServeAsync(TcpClient client, Func<TcpClient, CancellationToken, Task> serve)
    {
        using var mine = client;
        try
        {
            await serve(client, _stop.Token);
        }
        catch (Exception e) when (e is IOException or OperationCanceledException or SocketException or AuthenticationException)
        {
            // The client has disconnected, or the test is over.
        }
    }
}
