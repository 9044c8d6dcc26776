namespace HibpIngest.Hosting.Local;

/// <summary>What a local host does, and how often.</summary>
public sealed record LocalHostOptions
{
    public HostRoles Roles { get; init; } = HostRoles.All;

    /// <summary>Pause between two scans for dropped breaches. Short: a listing of the container is cheap, and a person waits.</summary>
    public TimeSpan BlobScanEvery { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>Pause between two sweeps; the timer of the Functions app is the same.</summary>
    public TimeSpan SweepEvery { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// How queues are listened to. <see cref="QueueListenerOptions.MaxDequeueCount"/> is taken from
    /// <see cref="Pipeline.RetryOptions.MaxTries"/>, and the ingest queue is listened to one message at a
    /// time.
    /// </summary>
    public QueueListenerOptions Queues { get; init; } = new();

    /// <summary>Called for every failed run or attempt, with the name of the scan, sweep or queue.</summary>
    public Action<string, Exception>? OnFailure { get; init; }

    /// <summary>Called when the host is asked to stop, with how many messages of each queue are being worked on.</summary>
    public Action<IReadOnlyDictionary<string, int>>? OnStopping { get; init; }
}
