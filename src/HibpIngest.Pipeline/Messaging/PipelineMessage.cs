namespace HibpIngest.Pipeline.Messaging;

/// <summary>A message of a load's stages.</summary>
public abstract record PipelineMessage : WorkMessage
{
    /// <summary>The load that the message belongs to; 0 if only its stage can determine it.</summary>
    internal abstract long LoadId { get; }

    /// <summary>True if this message advances the load; Sweep then uses its send time to detect loss.</summary>
    internal virtual bool MovesLoad => true;

    internal abstract string Span { get; }
}

/// <summary>A blob version to ingest, or (Load) a load to resume.</summary>
[Queue(QueueNames.Ingest)]
public sealed record IngestMessage : PipelineMessage
{
    public string? Blob { get; init; }

    public string? ETag { get; init; }

    public long Load { get; init; }

    internal override long LoadId => Load;

    internal BlobVersion Zip => new(Blob ?? "", ETag ?? "");

    protected override bool IsComplete() => Load > 0 || (!string.IsNullOrEmpty(Blob) && !string.IsNullOrEmpty(ETag));

    internal override string Span => TelemetryNames.Spans.Load;
}

/// <summary>A slice to upsert. Its range is taken from SQL; First and Last are for operators.</summary>
[Queue(QueueNames.Slices)]
public sealed record SliceMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Slice;

    internal override bool MovesLoad => false;

    public required int Slice { get; init; }

    public long First { get; init; }

    public long Last { get; init; }
}

/// <summary>A load to match.</summary>
[Queue(QueueNames.Match)]
public sealed record MatchMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Match;
}

/// <summary>Notifications First..Last of a load to send.</summary>
[Queue(QueueNames.Mail)]
public sealed record MailMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Send;

    public required int First { get; init; }

    public required int Last { get; init; }
}

/// <summary>A load to write into the account log, as far as its batches are committed.</summary>
[Queue(QueueNames.Log)]
public sealed record JournalMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Log;

    internal override bool MovesLoad => false;
}

/// <summary>A slice to search for the prefixes that clients watch. Its range is taken from SQL; First and Last are for operators.</summary>
[Queue(QueueNames.Calls)]
public sealed record CallMessage : PipelineMessage
{
    public required long Load { get; init; }

    internal override long LoadId => Load;

    internal override string Span => TelemetryNames.Spans.Call;

    internal override bool MovesLoad => false;

    public required int Slice { get; init; }

    public long First { get; init; }

    public long Last { get; init; }
}

/// <summary>A client to call with everything that is due, by its number.</summary>
[Queue(QueueNames.Callbacks)]
public sealed record CallbackMessage : PipelineMessage
{
    public required int Client { get; init; }

    internal override long LoadId => 0;

    internal override string Span => TelemetryNames.Spans.Deliver;

    internal override bool MovesLoad => false;
}
