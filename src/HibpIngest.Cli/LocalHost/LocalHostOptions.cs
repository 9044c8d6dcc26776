using HibpIngest.Hosting.Messages;

namespace HibpIngest.Cli.LocalHost;

/// <summary>The roles of a local host and its intervals.</summary>
public sealed record LocalHostOptions
{
    public HostRoles Roles { get; init; } = HostRoles.All;

    /// <summary>Pause between two scans for dropped breaches. Short: listing the container is cheap, and a person is waiting.</summary>
    public TimeSpan BlobScanEvery { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>Pause between two sweeps; the timer of the Functions app is the same.</summary>
    public TimeSpan SweepEvery { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// How queues are polled. <see cref="QueueListenerOptions.MaxDequeueCount"/> is taken from
    /// <see cref="Pipeline.Settings.RetryOptions.MaxTries"/>, and the ingest queue is processed one message at a time.
    /// </summary>
    public QueueListenerOptions Queues { get; init; } = new();

    /// <summary>Called for every failed run or attempt, with the name of the scan, sweep or queue.</summary>
    public Action<string, Exception>? OnFailure { get; init; }

    /// <summary>Called when the host is asked to stop, with the number of messages in progress by queue.</summary>
    public Action<IReadOnlyDictionary<string, int>>? OnStopping { get; init; }
}
