namespace HibpIngest.Pipeline.Messaging;

/// <summary>A message of a load's stages.</summary>
public abstract record PipelineMessage : WorkMessage
{
    /// <param name="movesLoad">True if the message advances its load; Sweep then uses its send time to detect loss.</param>
    private protected PipelineMessage(string span, bool movesLoad = true) => (Span, MovesLoad) = (span, movesLoad);

    /// <summary>The load that the message belongs to; 0 if only its stage can determine it, or if it belongs to none.</summary>
    internal abstract LoadId LoadId { get; }

    internal bool MovesLoad { get; }

    internal string Span { get; }
}

/// <summary>A blob version to ingest, or (Load) a load to resume.</summary>
[Queue(QueueNames.Ingest)]
public sealed record IngestMessage() : PipelineMessage(TelemetryNames.Spans.Load)
{
    public string? Blob { get; init; }

    public string? ETag { get; init; }

    public long Load { get; init; }

    internal override LoadId LoadId => new(Load);

    internal BlobVersion BlobVersion => new(Blob ?? "", ETag ?? "");

    protected override bool IsComplete() => Load > 0 || (!string.IsNullOrEmpty(Blob) && !string.IsNullOrEmpty(ETag));
}

/// <summary>A slice to upsert. Its range is taken from SQL; First and Last are for operators.</summary>
[Queue(QueueNames.Slices)]
public sealed record SliceMessage() : PipelineMessage(TelemetryNames.Spans.Slice, movesLoad: false)
{
    public required long Load { get; init; }

    internal override LoadId LoadId => new(Load);

    public required int Slice { get; init; }

    public long First { get; init; }

    public long Last { get; init; }
}

/// <summary>A load to match.</summary>
[Queue(QueueNames.Match)]
public sealed record MatchMessage() : PipelineMessage(TelemetryNames.Spans.Match)
{
    public required long Load { get; init; }

    internal override LoadId LoadId => new(Load);
}

/// <summary>Notifications First..Last of a load to send.</summary>
[Queue(QueueNames.Mail)]
public sealed record MailMessage() : PipelineMessage(TelemetryNames.Spans.Send)
{
    public required long Load { get; init; }

    internal override LoadId LoadId => new(Load);

    public required int First { get; init; }

    public required int Last { get; init; }
}

/// <summary>A load to write into the journal, as far as its batches are committed.</summary>
[Queue(QueueNames.Journal)]
public sealed record JournalMessage() : PipelineMessage(TelemetryNames.Spans.Journal, movesLoad: false)
{
    public required long Load { get; init; }

    internal override LoadId LoadId => new(Load);
}

/// <summary>A slice to search for the prefixes that clients watch. Its range is taken from SQL; First and Last are for operators.</summary>
[Queue(QueueNames.Calls)]
public sealed record CallbackSliceMessage() : PipelineMessage(TelemetryNames.Spans.Call, movesLoad: false)
{
    public required long Load { get; init; }

    internal override LoadId LoadId => new(Load);

    public required int Slice { get; init; }

    public long First { get; init; }

    public long Last { get; init; }
}

/// <summary>A client to call with everything that is due, by its number.</summary>
[Queue(QueueNames.Callbacks)]
public sealed record CallbackMessage() : PipelineMessage(TelemetryNames.Spans.Deliver, movesLoad: false)
{
    public required int Client { get; init; }

    internal override LoadId LoadId => default;
}
