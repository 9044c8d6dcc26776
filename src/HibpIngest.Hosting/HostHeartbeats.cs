using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Hosting;

/// <summary>Sends the heartbeats of a host that does all of the pipeline's work, while it runs.</summary>
public sealed class HostHeartbeats : IHostedService, IAsyncDisposable
{
    private readonly HostSigns _signs;

    public HostHeartbeats(IHostSigns signs, Deferrals deferrals, TimeProvider time)
    {
        var troubles = new HostTroubles(time);
        deferrals.Subscribe(troubles.Note);
        _signs = new HostSigns(signs, HostSign.Everything, troubles, time);
    }

    public Task StartAsync(CancellationToken cancellationToken)
    {
        _signs.Start();
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>Sends the last one.</summary>
    public ValueTask DisposeAsync() => _signs.DisposeAsync();
}
