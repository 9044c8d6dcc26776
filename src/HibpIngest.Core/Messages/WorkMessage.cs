using System.Collections.Concurrent;
using System.Reflection;
using System.Text.Json.Serialization;
using HibpIngest.Telemetry;

namespace HibpIngest.Messages;

/// <summary>
/// A queue message: versioned JSON of ids and ranges, never an address. Property names are a contract: operators requeue poisoned messages
/// by hand.
/// </summary>
public abstract record WorkMessage
{
    public const int CurrentVersion = 1;

    private static readonly JsonSerializerOptions Json = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingDefault,
        Converters = { new JsonStringEnumConverter() },
    };

    private static readonly ConcurrentDictionary<Type, string> Queues = [];

    /// <summary>The version that wrote the message. Messages without a version are of version 1.</summary>
    public int Version { get; init; } = CurrentVersion;

    /// <summary>W3C trace context of the sender.</summary>
    public string? Traceparent { get; init; }

    /// <summary>Number of times that this message was deferred because a store was unavailable; the delay grows with it.</summary>
    public int Deferrals { get; init; }

    public static string QueueOf(Type message) =>
        Queues.GetOrAdd(message, static type => type.GetCustomAttribute<QueueAttribute>()!.Name);

    public string GetQueue() => QueueOf(GetType());

    /// <summary>Returns the message as JSON, with the current trace context.</summary>
    public string ToJson() =>
        JsonSerializer.Serialize(this with { Traceparent = HibpTelemetry.Span?.Id ?? Traceparent }, GetType(), Json);

    /// <exception cref="UnreadableMessageException">The body is not such a message, or is of another version. The body is not repeated: a
    /// message put into a queue by hand could hold anything.</exception>
    public static T Parse<T>(string body)
        where T : WorkMessage
    {
        T? message;
        try
        {
            message = JsonSerializer.Deserialize<T>(body, Json);
        }
        catch (Exception e) when (e is JsonException or ArgumentException)
        {
            // ArgumentException: half of a surrogate pair.
            message = null;
        }
        if (message is { Version: not CurrentVersion and var version })
        {
            throw new UnreadableMessageException(
                $"the message has version {version}, expected {CurrentVersion}: another version of the program sent it");
        }
        return message?.IsComplete() == true
            ? message : throw new UnreadableMessageException(
                $"the message is not the JSON of {typeof(T).Name}, or lacks a field; if it was put into the queue by hand, correct it");
    }

    /// <summary>Returns whether the fields that JSON doesn't check hold values within their range.</summary>
    protected virtual bool IsComplete() => true;
}

/// <summary>Names the queue that carries a type of messages.</summary>
[AttributeUsage(AttributeTargets.Class, Inherited = false)]
public sealed class QueueAttribute(string name) : Attribute
{
    /// <summary>One of <see cref="QueueNames"/>.</summary>
    public string Name { get; } = name;
}

/// <summary>A queue message that this program can't read; it goes to the poison queue after its attempts.</summary>
public sealed class UnreadableMessageException(string message) : HibpException(message);

public static class MessageSending
{
    /// <param name="delay">Time for which the message stays invisible, at most 7 days less a margin.</param>
    public static Task SendAsync(
        this IMessageQueues queues, WorkMessage message, TimeSpan delay, CancellationToken cancellationToken) =>
        queues.Get(message.GetQueue()).SendAsync(message.ToJson(), delay, cancellationToken);
}

/// <summary>Processes one type of messages that belong to no load.</summary>
public interface IMessageStage<TMessage>
    where TMessage : WorkMessage
{
    /// <summary>Returns when the message's work is durably done. A redelivery finds it done, or completes it.</summary>
    /// <exception cref="Errors.UnavailableException">A store is unavailable: the message is deferred.</exception>
    Task RunAsync(TMessage message, CancellationToken cancellationToken);
}
