using System.Buffers;
using System.Buffers.Text;
using System.Collections.Concurrent;
using System.Text.Unicode;
using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;

namespace HibpIngest.Storage.Azure.Queues;

internal sealed class MessageQueues(QueueServiceClient service, string prefix, TimeProvider clock) : IMessageQueues
{
    private readonly ConcurrentDictionary<string, SemaphoreSlim> _sent = new(StringComparer.Ordinal);

    public IMessageQueue Get(string name) => new MessageQueue(
        name, service.GetQueueClient(prefix + name), clock, _sent.GetOrAdd(name, _ => new SemaphoreSlim(0)));
}

/// <param name="sent">Released when this process has sent a visible message; shared by all instances of the queue.</param>
internal sealed class MessageQueue(string name, QueueClient queue, TimeProvider clock, SemaphoreSlim sent) : IMessageQueue
{
    /// <summary>A message that never expires (learn.microsoft.com/rest/api/storageservices/put-message).</summary>
    private static readonly TimeSpan Forever = TimeSpan.FromSeconds(-1);

    public string Name => name;

    public Task CreateAsync(CancellationToken cancellationToken) =>
        Call("creation", () => queue.CreateIfNotExistsAsync(null, cancellationToken), cancellationToken);

    public async Task SendAsync(string body, TimeSpan delay, CancellationToken cancellationToken)
    {
        var text = Convert.ToBase64String(Encoding.UTF8.GetBytes(body));
        TimeSpan? invisible = delay > TimeSpan.Zero ? Whole(delay) : null;
        await Call("sending", () => queue.SendMessageAsync(text, invisible, Forever, cancellationToken), cancellationToken);
        if (invisible is null && sent.CurrentCount == 0)
            sent.Release();
    }

    public Task<bool> WaitForSendAsync(TimeSpan maxWait, CancellationToken cancellationToken) => sent.WaitAsync(maxWait, cancellationToken);

    public async Task<IReadOnlyList<QueuedMessage>> ReceiveAsync(int limit, TimeSpan visibility, CancellationToken cancellationToken)
    {
        var messages = await Call<QueueMessage[]>(
            "receiving", async () => (await queue.ReceiveMessagesAsync(Clamp(limit), Whole(visibility), cancellationToken)).Value,
            cancellationToken);
        return Array.ConvertAll(
            messages, message => new QueuedMessage(message.MessageId, message.PopReceipt, Decode(message.Body), message.DequeueCount));
    }

    public Task<QueuedMessage?> ExtendAsync(QueuedMessage message, TimeSpan visibility, CancellationToken cancellationToken) =>
        StorageCall.FindAsync(Operation("extending"), async () =>
        {
            // The service keeps the body if none is sent.
            UpdateReceipt receipt = await queue.UpdateMessageAsync(
                message.Id, message.Receipt, (string?)null, Whole(visibility), cancellationToken);
            return message with { Receipt = receipt.PopReceipt };
        }, IsLost, cancellationToken);

    // A lost message was deleted, or received again by another worker, which will delete it.
    public Task DeleteAsync(QueuedMessage message, CancellationToken cancellationToken) => StorageCall.TryAsync(
        Operation("deleting"), () => queue.DeleteMessageAsync(message.Id, message.Receipt, cancellationToken), IsLost, cancellationToken);

    public Task<QueueDepth> GetDepthAsync(CancellationToken cancellationToken) => Call("reading the depth", async () =>
    {
        QueueProperties properties = await queue.GetPropertiesAsync(cancellationToken);
        var head = await queue.PeekMessagesAsync(1, cancellationToken);
        TimeSpan? oldest = null;
        if (head.Value is [var message, ..] && message.InsertedOn is { } inserted)
        {
            // Both times by the service's clock, if it sends a Date header.
            var age = (head.GetRawResponse().Headers.Date ?? clock.GetUtcNow()) - inserted;
            oldest = age > TimeSpan.Zero ? age : TimeSpan.Zero;
        }
        return new QueueDepth(properties.ApproximateMessagesCount, oldest);
    }, cancellationToken);

    public async Task<IReadOnlyList<QueuedMessage>> PeekAsync(int limit, CancellationToken cancellationToken)
    {
        var messages = await Call<PeekedMessage[]>(
            "peeking", async () => (await queue.PeekMessagesAsync(Clamp(limit), cancellationToken)).Value, cancellationToken);
        return Array.ConvertAll(messages, message => new QueuedMessage(message.MessageId, "", Decode(message.Body), message.DequeueCount));
    }

    public Task ClearAsync(CancellationToken cancellationToken) =>
        Call("clearing", () => queue.ClearMessagesAsync(cancellationToken), cancellationToken);

    private static int Clamp(int max) => Math.Clamp(max, 1, 32);

    // Rounds up to whole seconds, the service's unit: the client library truncates, and a message would become visible before it is due.
    private static TimeSpan Whole(TimeSpan hidden) => TimeSpan.FromSeconds(Math.Ceiling(hidden.TotalSeconds));

    /// <summary>JSON is never valid base64, so a body that is base64 of valid UTF-8 was encoded by this service or the portal.</summary>
    private static string Decode(BinaryData body)
    {
        var text = body.ToMemory().Span;
        var bytes = new byte[Base64.GetMaxDecodedFromUtf8Length(text.Length)];
        return Base64.DecodeFromUtf8(text, bytes, out _, out var length) == OperationStatus.Done && Utf8.IsValid(bytes.AsSpan(0, length))
            ? Encoding.UTF8.GetString(bytes, 0, length) : Encoding.UTF8.GetString(text);
    }

    private static bool IsLost(RequestFailedException e) =>
        (e.Status, e.ErrorCode) is (404, "MessageNotFound") or (400, "PopReceiptMismatch" or "InvalidQueryParameterValue");

    private string Operation(string what) => $"{what} (queue {queue.Name})";

    private Task<T> Call<T>(string what, Func<Task<T>> call, CancellationToken cancellationToken) =>
        StorageCall.RunAsync(Operation(what), call, cancellationToken);
}
