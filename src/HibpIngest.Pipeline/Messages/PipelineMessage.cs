using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Telemetry;

namespace HibpIngest.Pipeline;

/// <summary>
/// What every queue message carries: versioned JSON of ids and ranges, never an address. Property names are a
/// contract: poisoned messages are requeued by hand.
/// </summary>
public abstract record PipelineMessage
{
    /// <summary>The version this program writes and reads.</summary>
    public const int CurrentVersion = 1;

    public int Version { get; init; } = CurrentVersion;

    /// <summary>
    /// W3C trace context of the sender, so that one load is one end-to-end transaction. Where it is missing, or
    /// of another trace, the message is of its load's trace all the same.
    /// </summary>
    public string? Traceparent { get; init; }

    /// <summary>How often this message has been put off because a store was down; the delay grows with it.</summary>
    public int Deferrals { get; init; }

    /// <summary>The load that it is of; 0 where only its stage will know.</summary>
    internal abstract long LoadId { get; }

    /// <summary>
    /// Whether its load is gone on with by it, so that Sweep goes by when it was sent: a slice has a time of its own.
    /// </summary>
    internal virtual bool MovesLoad => true;

    /// <summary>Name of the span of its stage.</summary>
    internal abstract string Span { get; }

    /// <summary>The queue that carries messages of its kind.</summary>
    internal abstract string Queue { get; }

    /// <summary>The message as JSON, with the current trace context.</summary>
    public string ToJson() => JsonSerializer.Serialize(
        this with { Traceparent = HibpTelemetry.Span?.Id ?? Traceparent }, GetType(), PipelineMessageJson.Default);

    /// <summary>Reads a message of a kind.</summary>
    /// <exception cref="UnreadableMessageException">Not JSON, another shape, or another version.</exception>
    public static T Parse<T>(string body)
        where T : PipelineMessage
    {
        try
        {
            var message = (T?)JsonSerializer.Deserialize(body, typeof(T), PipelineMessageJson.Default)
                ?? throw new UnreadableMessageException("the message is empty");
            if (message.Version != CurrentVersion)
                throw new UnreadableMessageException(
                    $"the message has version {message.Version}, expected {CurrentVersion}: it was sent by another version of the program");
            return message;
        }
        catch (JsonException)
        {
            // The body is not repeated: what somebody put into a queue by hand could hold anything.
            throw new UnreadableMessageException($"the message is not the JSON of {typeof(T).Name}");
        }
    }
}

/// <summary>A blob version to ingest, or (Load) a load to go on with.</summary>
public sealed record IngestMessage : PipelineMessage
{
    public string? Blob { get; init; }

    public string? ETag { get; init; }

    public long Load { get; init; }

    internal override long LoadId => Load;

    internal BlobVersion Zip => new(Blob ?? "", ETag ?? "");

    internal override string Span => TelemetryNames.Spans.Load;

    internal override string Queue => QueueNames.Ingest;
}

/// <summary>A slice to upsert. Its range is taken from SQL; First and Last are for the operator's eye.</summary>
public sealed record SliceMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Slice;

    internal override string Queue => QueueNames.Slices;

    internal override bool MovesLoad => false;

    public required int Slice { get; init; }

    public long First { get; init; }

    public long Last { get; init; }
}

/// <summary>A load to match.</summary>
public sealed record MatchMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Match;

    internal override string Queue => QueueNames.Match;
}

/// <summary>Notifications First..Last of a load, to be sent.</summary>
public sealed record MailMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Send;

    internal override string Queue => QueueNames.Mail;

    public required int First { get; init; }

    public required int Last { get; init; }
}

/// <summary>A load to be written into the account log, as far as it can be by now.</summary>
public sealed record LogMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Log;

    internal override string Queue => QueueNames.Log;

    internal override bool MovesLoad => false;
}

/// <summary>
/// A slice of a load to be looked through for what clients watch. Its range is taken from SQL; First and Last are for the operator's eye.
/// </summary>
public sealed record CallMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Call;

    internal override string Queue => QueueNames.Calls;

    internal override bool MovesLoad => false;

    public required int Slice { get; init; }

    public long First { get; init; }

    public long Last { get; init; }
}

/// <summary>A client to be called of whatever is due, by its number.</summary>
public sealed record CallbackMessage : PipelineMessage
{
    public required int Client { get; init; }

    /// <inheritdoc/>
    /// <remarks>Of any number of them.</remarks>
    internal override long LoadId => 0;

    internal override string Span => TelemetryNames.Spans.Deliver;

    internal override string Queue => QueueNames.Callbacks;

    internal override bool MovesLoad => false;
}

/// <summary>A queue message that this program can't read; after its tries it is poison.</summary>
public sealed class UnreadableMessageException(string message) : HibpException(message);

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingDefault)]
[JsonSerializable(typeof(IngestMessage))]
[JsonSerializable(typeof(SliceMessage))]
[JsonSerializable(typeof(MatchMessage))]
[JsonSerializable(typeof(MailMessage))]
[JsonSerializable(typeof(LogMessage))]
[JsonSerializable(typeof(CallMessage))]
[JsonSerializable(typeof(CallbackMessage))]
internal sealed partial class PipelineMessageJson : JsonSerializerContext;
