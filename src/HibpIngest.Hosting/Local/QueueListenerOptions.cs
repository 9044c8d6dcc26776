namespace HibpIngest.Hosting.Local;

/// <summary>
/// How a queue is listened to. The defaults are those of the Functions host (host.json,
/// <c>extensions.queues</c>), where they can be.
/// </summary>
public sealed record QueueListenerOptions
{
    /// <summary>The most that one receive can take (learn.microsoft.com/rest/api/storageservices/get-messages).</summary>
    public const int MaxReceive = 32;

    /// <summary>Messages taken at a time, at most <see cref="MaxReceive"/>.</summary>
    public int BatchSize { get; init; } = 16;

    /// <summary>Another batch is fetched when at most so many are being worked on: 24 in flight at the most.</summary>
    public int NewBatchThreshold { get; init; } = 8;

    /// <summary>Tries by dequeue count; then the message is poison.</summary>
    public int MaxDequeueCount { get; init; } = 5;

    /// <summary>
    /// How long a message is taken for; renewed at half of it while it is being worked on. The Functions host
    /// takes it for ten minutes, for which a process that is killed then leaves its messages lying. What is
    /// left at a renewal, 45 seconds, holds several tries of it.
    /// </summary>
    public TimeSpan Visibility { get; init; } = TimeSpan.FromSeconds(90);

    /// <summary>
    /// How long a message that failed stays invisible before the next try. The host's own default is zero,
    /// which uses up five tries within a second; at 30 seconds they span two minutes, four times the lease of a
    /// load whose ingester has crashed.
    /// </summary>
    public TimeSpan RetryDelay { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>First pause after an empty receive; each further one doubles it.</summary>
    public TimeSpan MinPause { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// Longest pause. The Functions host goes up to a minute, to save transactions that cost money; somebody
    /// who sits before this one waits for it.
    /// </summary>
    public TimeSpan MaxPause { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>How long messages in hand may take to come to a stop at the end.</summary>
    public TimeSpan ShutdownTimeout { get; init; } = TimeSpan.FromSeconds(30);
}
