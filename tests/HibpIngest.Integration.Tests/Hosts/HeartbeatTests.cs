using System.Net.Sockets;
using System.Threading.Channels;
using HibpIngest.Integration.Tests.Telemetry;

namespace HibpIngest.Integration.Tests.Hosts;

/// <summary>Tests what host and operator see of an emulator whose accept queue is full, while all pool threads are occupied.</summary>
[Collection(ListeningAlone.Name)]
public sealed class HeartbeatTests
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Heartbeats_are_sent_with_a_full_accept_queue_and_no_free_pool_thread()
    {
        using var server = new OneConnectionServer();
        using var account = StorageAccount.Open(server.Connection, NullLoggerFactory.Instance);
        var sender = new HeartbeatSender(
            account.Heartbeats, Heartbeat.Everything, new BlockedWork(TimeProvider.System), TimeProvider.System);
        sender.Start();
        try
        {
            Assert.True(server.WaitForHeartbeats(1, TestTimeout));
            Assert.True(server.WaitForListing(TestTimeout));
            using var full = server.FillAcceptQueue();
            using var pool = new TakenPool();
            Assert.True(server.WaitForHeartbeats(3, TimeSpan.FromSeconds(18)), "a heartbeat is missing: the host counts as dead");
        }
        finally
        {
            // The server is already closed when the heartbeat is removed.
            server.Dispose();
            await sender.DisposeAsync().AsTask().WaitAsync(TestTimeout);
        }
    }

    [Fact]
    public async Task Emulator_with_a_full_accept_queue_is_busy_and_a_refusing_one_is_stopped()
    {
        using var listeners = new ThreeListeners();
        listeners.Listen();
        var emulator = new LocalEmulator("unused", listeners.FirstPort) { AcceptTimeout = TimeSpan.FromSeconds(1) };
        Assert.Equal(EmulatorState.Running, await emulator.FindStateAsync(None));
        using (OneConnectionServer.FillAcceptQueue(listeners.FirstPort + 2))
        {
            Assert.Equal(EmulatorState.Busy, await emulator.FindStateAsync(None));
            Assert.Equal(
                "the storage emulator runs, but has accepted no connection within 1 s: it is busy or stopped", emulator.BusyMessage);
            listeners.Close(1);
            Assert.Equal(EmulatorState.Stopped, await emulator.FindStateAsync(None));
        }
    }

    [Fact]
    public async Task Restarting_emulator_is_waited_for_and_a_stopped_one_is_not()
    {
        using var folder = new TemporaryFolder();
        using var listeners = new ThreeListeners();
        var emulator = new LocalEmulator(folder.Path, listeners.FirstPort);
        var messages = Channel.CreateUnbounded<string>();
        var progress = new ChannelProgress(messages.Writer);
        Assert.Equal(EmulatorState.Stopped, await emulator.WaitForStateAsync(progress, None));
        var hold = emulator.TryHold(1);
        Assert.NotNull(hold);
        Assert.Null(emulator.TryHold(1));
        var state = emulator.WaitForStateAsync(progress, None);
        Assert.Contains("waiting for the storage emulator", await messages.Reader.ReadAsync(), StringComparison.Ordinal);
        Assert.False(state.IsCompleted);
        hold.Dispose();
        Assert.Equal(EmulatorState.Stopped, await state.WaitAsync(TestTimeout));

        using var again = emulator.TryHold(1);
        state = emulator.WaitForStateAsync(progress, None);
        await messages.Reader.ReadAsync();
        Assert.False(state.IsCompleted);
        listeners.Listen();
        Assert.Equal(EmulatorState.Running, await state.WaitAsync(TestTimeout));
        Assert.False(messages.Reader.TryRead(out _));
    }

    /// <summary>A table service that accepts one connection and responds on it; the next one waits in the accept queue.</summary>
    private sealed class OneConnectionServer : IDisposable
    {
        private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        private readonly SemaphoreSlim _heartbeats = new(0);
        private readonly ManualResetEventSlim _listed = new();
        private Socket? _accepted;

        public OneConnectionServer()
        {
            _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            _listener.Listen(1);
            new Thread(Serve) { IsBackground = true }.Start();
        }

        public string Connection => ConnectionStrings.Of($"http://127.0.0.1:{Port}");

        private int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

        public bool WaitForHeartbeats(int count, TimeSpan timeout) =>
            Enumerable.Range(0, count).All(_ => _heartbeats.Wait(timeout));

        public bool WaitForListing(TimeSpan timeout) => _listed.Wait(timeout);

        public IDisposable FillAcceptQueue() => FillAcceptQueue(Port);

        /// <summary>Connects until a connect hangs.</summary>
        public static IDisposable FillAcceptQueue(int port)
        {
            var waiting = new Sockets();
            for (var number = 0; number < 64; number++)
            {
                var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { Blocking = false };
                waiting.Add(socket);
                try
                {
                    socket.Connect(IPAddress.Loopback, port);
                }
                catch (SocketException e) when (e.SocketErrorCode is SocketError.WouldBlock or SocketError.InProgress)
                {
                    if (!socket.Poll(TimeSpan.FromMilliseconds(300), SelectMode.SelectWrite))
                        return waiting;
                }
            }
            throw new InvalidOperationException("the accept queue takes any number of connections");
        }

        public void Dispose()
        {
            _listener.Dispose();
            _accepted?.Dispose();
        }

        private void Serve()
        {
            try
            {
                _accepted = _listener.Accept();
                using var stream = new NetworkStream(_accepted);
                using var reader = new StreamReader(stream, Encoding.Latin1);
                while (reader.ReadLine() is { } line)
                {
                    var length = 0;
                    while (reader.ReadLine() is { Length: > 0 } header)
                    {
                        if (header.StartsWith("Content-Length:", StringComparison.OrdinalIgnoreCase))
                            length = int.Parse(header["Content-Length:".Length..], CultureInfo.InvariantCulture);
                    }
                    reader.ReadBlock(new char[length], 0, length);
                    var isHeartbeat = line.StartsWith("PUT ", StringComparison.Ordinal);
                    var body = isHeartbeat ? "" : """{"value":[]}""";
                    stream.Write(Encoding.ASCII.GetBytes(string.Create(
                        CultureInfo.InvariantCulture,
                        $"HTTP/1.1 {(isHeartbeat ? "204 No Content" : "200 OK")}\r\nContent-Type: application/json\r\n"
                        + $"{(isHeartbeat ? "" : $"Content-Length: {body.Length}\r\n")}\r\n{body}")));
                    if (isHeartbeat)
                        _heartbeats.Release();
                    else
                        _listed.Set();
                }
            }
            catch (Exception e) when (e is SocketException or IOException or ObjectDisposedException)
            {
                // The test has ended.
            }
        }
    }

    private sealed class Sockets : List<Socket>, IDisposable
    {
        public void Dispose() => ForEach(socket => socket.Dispose());
    }

    private sealed class ChannelProgress(ChannelWriter<string> writer) : IProgress<string>
    {
        public void Report(string value) => writer.TryWrite(value);
    }

    /// <summary>Three consecutive ports, as the emulator has them, that accept nothing and let one connection wait.</summary>
    private sealed class ThreeListeners : IDisposable
    {
        private readonly List<TcpListener> _listeners;

        public ThreeListeners() =>
            _listeners = [.. Enumerable.Range(FirstPort, 3).Select(port => new TcpListener(IPAddress.Loopback, port))];

        public int FirstPort { get; } = Cli.OperationTests.FreePorts();

        public void Listen() => _listeners.ForEach(listener => listener.Start(backlog: 4));

        public void Close(int number) => _listeners[number].Dispose();

        public void Dispose() => _listeners.ForEach(listener => listener.Dispose());
    }

    /// <summary>Occupies each thread of the pool, and those that it adds, a few per second.</summary>
    private sealed class TakenPool : IDisposable
    {
        private const int Threads = 200;
        private readonly ManualResetEventSlim _free = new();
        private readonly CountdownEvent _left = new(Threads);

        public TakenPool()
        {
            for (var thread = 0; thread < Threads; thread++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ =>
                {
                    _free.Wait();
                    _left.Signal();
                }, null);
            }
        }

        public void Dispose()
        {
            _free.Set();
            _left.Wait();
            _free.Dispose();
            _left.Dispose();
        }
    }
}
