namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Real queues that report each call, before it (when a test may inject a fault) and after it.</summary>
internal sealed class ObservedQueues(IMessageQueues real) : IMessageQueues
{
    /// <summary>Called with queue and operation before the call; may throw.</summary>
    public Action<string, string>? Before { get; set; }

    /// <summary>Called with queue, body and delay before a message is sent.</summary>
    public Action<string, string, TimeSpan>? OnSend { get; set; }

    /// <summary>Called with the requested visibility before a receive or an extension.</summary>
    public Action<string, TimeSpan>? OnVisibility { get; set; }

    /// <summary>Called with the number of messages received.</summary>
    public Action<int>? OnReceived { get; set; }

    /// <summary>Called with queue and operation after the call.</summary>
    public Action<string, string>? After { get; set; }

    public IMessageQueue Get(string name) => new Observed(real.Get(name), this);

    private sealed class Observed(IMessageQueue real, ObservedQueues owner) : IMessageQueue
    {
        public string Name => real.Name;

        public Task CreateAsync(CancellationToken cancellationToken) => ReportAsync("create", () => real.CreateAsync(cancellationToken));

        public Task SendAsync(string body, TimeSpan delay, CancellationToken cancellationToken)
        {
            owner.OnSend?.Invoke(Name, body, delay);
            return ReportAsync("send", () => real.SendAsync(body, delay, cancellationToken));
        }

        public Task<bool> WaitForSendAsync(TimeSpan maxWait, CancellationToken cancellationToken) =>
            real.WaitForSendAsync(maxWait, cancellationToken);

        public async Task<IReadOnlyList<QueuedMessage>> ReceiveAsync(int limit, TimeSpan visibility, CancellationToken cancellationToken)
        {
            IReadOnlyList<QueuedMessage> received = [];
            owner.OnVisibility?.Invoke("receive", visibility);
            await ReportAsync("receive", async () => received = await real.ReceiveAsync(limit, visibility, cancellationToken));
            owner.OnReceived?.Invoke(received.Count);
            return received;
        }

        public async Task<QueuedMessage?> ExtendAsync(QueuedMessage message, TimeSpan visibility, CancellationToken cancellationToken)
        {
            QueuedMessage? extended = null;
            owner.OnVisibility?.Invoke("extend", visibility);
            await ReportAsync("extend", async () => extended = await real.ExtendAsync(message, visibility, cancellationToken));
            return extended;
        }

        public Task DeleteAsync(QueuedMessage message, CancellationToken cancellationToken) =>
            ReportAsync("delete", () => real.DeleteAsync(message, cancellationToken));

        public Task<QueueDepth> GetDepthAsync(CancellationToken cancellationToken) => real.GetDepthAsync(cancellationToken);

        public Task<IReadOnlyList<QueuedMessage>> PeekAsync(int limit, CancellationToken cancellationToken) =>
            real.PeekAsync(limit, cancellationToken);

        public Task ClearAsync(CancellationToken cancellationToken) => real.ClearAsync(cancellationToken);

        private async Task ReportAsync(string operation, Func<Task> call)
        {
            owner.Before?.Invoke(Name, operation);
            await call();
            owner.After?.Invoke(Name, operation);
        }
    }
}
