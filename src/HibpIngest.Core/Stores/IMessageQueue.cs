namespace HibpIngest.Stores;

/// <summary>One queue of Queue Storage. Bodies are UTF-8 text (JSON), base64 on the wire, and never expire.</summary>
public interface IMessageQueue
{
    string Name { get; }

    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Sends a message that stays invisible for <paramref name="delay"/> (at most 7 days, less a margin), and for up to a second more.
    /// </summary>
    Task SendAsync(string body, TimeSpan delay, CancellationToken cancellationToken);

    /// <summary>
    /// Waits until this process sends a visible message, so that its listener receives it at once. Other processes send, too: poll after
    /// the wait.
    /// </summary>
    /// <returns>True if one was sent within <paramref name="maxWait"/>.</returns>
    Task<bool> WaitForSendAsync(TimeSpan maxWait, CancellationToken cancellationToken);

    /// <summary>
    /// Receives up to <paramref name="limit"/> (1-32) messages, which become invisible to others for <paramref name="visibility"/>. A body
    /// that isn't base64 is treated as plain text.
    /// </summary>
    Task<IReadOnlyList<QueuedMessage>> ReceiveAsync(int limit, TimeSpan visibility, CancellationToken cancellationToken);

    /// <summary>Extends a message's invisibility from now on; returns the message with its new receipt.</summary>
    /// <returns>Null if it was deleted, or another consumer received it.</returns>
    Task<QueuedMessage?> ExtendAsync(QueuedMessage message, TimeSpan visibility, CancellationToken cancellationToken);

    /// <summary>Deletes a message; does nothing if it was deleted, or another consumer received it.</summary>
    Task DeleteAsync(QueuedMessage message, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the approximate number of messages, including invisible ones, and the age of the oldest visible one, if any.
    /// </summary>
    Task<QueueDepth> GetDepthAsync(CancellationToken cancellationToken);

    /// <summary>Returns up to 32 visible messages from the head without receiving them.</summary>
    Task<IReadOnlyList<QueuedMessage>> PeekAsync(int limit, CancellationToken cancellationToken);
    Task ClearAsync(CancellationToken cancellationToken);
}

/// <param name="Receipt">Needed to delete or extend; empty if the message was only peeked at.</param>
/// <param name="DequeueCount">How often it was received, including this time.</param>
public sealed record QueuedMessage(string Id, string Receipt, string Body, long DequeueCount);

public sealed record QueueDepth(int Messages, TimeSpan? Oldest);

/// <summary>The queues of one storage account, by name.</summary>
public interface IMessageQueues
{
    /// <summary>Returns the queue of that name; it need not exist.</summary>
    IMessageQueue Get(string name);
}
