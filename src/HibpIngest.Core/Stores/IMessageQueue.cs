namespace HibpIngest.Stores;

/// <summary>One queue of Queue Storage. Bodies are UTF-8 text (JSON), base64 on the wire, and never expire.</summary>
public interface IMessageQueue
{
    string Name { get; }

    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Sends; the message is invisible for <paramref name="delay"/> (at most 7 days, less a margin) first, and for up to a second more.
    /// </summary>
    Task SendAsync(string body, TimeSpan delay, CancellationToken cancellationToken);

    /// <summary>
    /// Takes up to <paramref name="most"/> (1-32) messages, invisible to others for
    /// <paramref name="visibility"/>. A body that isn't base64 is taken as plain text.
    /// </summary>
    Task<IReadOnlyList<QueuedMessage>> ReceiveAsync(int most, TimeSpan visibility, CancellationToken cancellationToken);

    /// <summary>
    /// Keeps a message invisible for so long from now on; returns it with its new receipt. Null: it was
    /// deleted, or somebody else has it by now.
    /// </summary>
    Task<QueuedMessage?> ExtendAsync(QueuedMessage message, TimeSpan visibility, CancellationToken cancellationToken);

    /// <summary>Deletes it; nothing happens when it is gone or somebody else has it by now.</summary>
    Task DeleteAsync(QueuedMessage message, CancellationToken cancellationToken);

    /// <summary>
    /// Messages in it (invisible ones included; approximate), and the age of the oldest visible one where there
    /// is one.
    /// </summary>
    Task<QueueDepth> GetDepthAsync(CancellationToken cancellationToken);

    /// <summary>Up to 32 visible bodies from its head, left where they are.</summary>
    Task<IReadOnlyList<QueuedMessage>> PeekAsync(int most, CancellationToken cancellationToken);

    Task ClearAsync(CancellationToken cancellationToken);
}

/// <param name="Receipt">Needed to delete or extend; empty when only peeked at.</param>
/// <param name="DequeueCount">How often it has been received, this time included.</param>
public sealed record QueuedMessage(string Id, string Receipt, string Body, long DequeueCount);

public sealed record QueueDepth(int Messages, TimeSpan? Oldest);
