namespace HibpIngest.Tests.Hosts;

public sealed class HeartbeatSenderTests
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task Exhausted_memory_in_a_heartbeat_and_at_the_stop_is_no_error()
    {
        using var store = new ExhaustedStore();
        var sender = new HeartbeatSender(store, Heartbeat.Everything, new BlockedWork(TimeProvider.System), TimeProvider.System);
        sender.Start();
        var isSent = store.WaitForHeartbeat(TestTimeout);
        await sender.DisposeAsync();
        Assert.True(isSent);
    }

    private sealed class ExhaustedStore : IHeartbeats, IDisposable
    {
        private readonly ManualResetEventSlim _sent = new();

        public bool WaitForHeartbeat(TimeSpan timeout) => _sent.Wait(timeout);

        public void PutHeartbeat(Heartbeat sign, CancellationToken cancellationToken)
        {
            _sent.Set();
            throw new OutOfMemoryException();
        }

        public Task<IReadOnlyList<Heartbeat>> ListHeartbeatsAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task RemoveHeartbeatAsync(string host, CancellationToken cancellationToken) => throw new OutOfMemoryException();

        public void Dispose() => _sent.Dispose();
    }
}
