using HibpIngest.Hosting.Messages;

namespace HibpIngest.Cli.LocalHost;

internal sealed record LocalHostOptions
{
    public HostRoles Roles { get; init; } = HostRoles.All;

    /// <summary>
    /// Pause between two scans for dropped files. If null, half a second on the emulator, 2 seconds on Azure, which bills each listing.
    /// </summary>
    public TimeSpan? ScanEvery { get; init; }

    /// <summary>Pause between two sweeps; the timer of the Functions app is the same.</summary>
    public TimeSpan SweepEvery { get; init; } = TimeSpan.FromMinutes(1);

    // MaxDequeueCount is that of RetryOptions; the ingest queue is processed one message at a time.
    public QueueListenerOptions Queues { get; init; } = new();

    /// <summary>Called for every failed run or attempt, with the name of the scan, sweep or queue.</summary>
    public Action<string, Exception>? OnFailure { get; init; }

    /// <summary>Called when the host is asked to stop, with the number of messages in progress by queue.</summary>
    public Action<IReadOnlyDictionary<string, int>>? OnStopping { get; init; }
}

/// <summary>How a queue is polled. The defaults follow the Functions host (host.json, <c>extensions.queues</c>) where possible.</summary>
internal sealed record QueueListenerOptions
{
    /// <summary>Messages per receive, at most 32 (learn.microsoft.com/rest/api/storageservices/get-messages).</summary>
    public int BatchSize { get; init; } = 16;

    /// <summary>Another batch is received when at most this many messages are in progress: by default at most 24 in flight.</summary>
    public int NewBatchThreshold { get; init; } = 8;

    /// <summary>Maximum attempts, by dequeue count; after them the message goes to the poison queue.</summary>
    public int MaxDequeueCount { get; init; } = 5;

    // Renewed at half of it while the work runs: 45 seconds are enough for several attempts to renew. The Functions host uses ten minutes,
    // during which the messages of a killed process stay hidden.
    public TimeSpan Visibility { get; init; } = TimeSpan.FromSeconds(90);

    // The Functions host's default is zero, which uses up five attempts within a second; at 30 seconds they span two minutes, four times
    // the lease of a load whose ingester has crashed.
    public TimeSpan RetryDelay { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>First pause after an empty receive; each further one doubles it.</summary>
    public TimeSpan MinPause { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>Maximum pause. The Functions host goes up to a minute, to save billed transactions; here a person may be waiting.</summary>
    public TimeSpan MaxPause { get; init; } = TimeSpan.FromSeconds(2);

    public TimeSpan ShutdownTimeout { get; init; } = TimeSpan.FromSeconds(30);
}
