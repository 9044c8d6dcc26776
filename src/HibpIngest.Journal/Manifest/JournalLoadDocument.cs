using System.Text.Json.Serialization;

namespace HibpIngest.Journal.Manifest;

/// <summary>A load's document in the journal: the load is current, and can be restored from it. Its JSON is a contract.</summary>
public sealed record JournalLoadDocument
{
    public const int CurrentFormat = 1;

    public int Format { get; init; } = CurrentFormat;

    public required Guid Store { get; init; }

    public required long Load { get; init; }

    public required int Mark { get; init; }

    public required string Breach { get; init; }

    public required string Blob { get; init; }

    [JsonPropertyName("etag")]
    public required string ETag { get; init; }

    /// <summary>Counts the restarts of that blob version, from 1.</summary>
    public required int Generation { get; init; }

    public required DateTimeOffset StartedAt { get; init; }

    public required LoadSettings Settings { get; init; }

    public required long Rows { get; init; }

    /// <summary>The published number of accounts; less than <see cref="Rows"/> if an account was in several rows.</summary>
    public required long Accounts { get; init; }

    /// <summary>The load's segments, by position.</summary>
    public required IReadOnlyList<DocumentSegment> Segments { get; init; }

    /// <summary>Loads that this one replaced; they no longer count.</summary>
    public required IReadOnlyList<long> Replaces { get; init; }

    /// <summary>The catalogue's version at the last change: of two documents of a breach, the higher is the newer.</summary>
    public required long Version { get; init; }

    public required DateTimeOffset PublishedAt { get; init; }

    public required DateTimeOffset BreachPublishedAt { get; init; }

    public required DateTimeOffset ModifiedAt { get; init; }

    /// <summary>True if an operator hid the breach from every lookup. Null if the document doesn't say.</summary>
    [JsonPropertyName("hidden")]
    public bool? HiddenFlag { get; init; }

    /// <summary>True if the breach is in no lookup; also true if the document doesn't say.</summary>
    [JsonIgnore]
    public bool Hidden
    {
        get => !IsReported || HiddenFlag == true;
        init => HiddenFlag = value;
    }

    /// <summary>The breach's metadata document.</summary>
    public JsonElement Metadata { get; init; }

    /// <summary>True if the document holds the breach's flags and details; one of another origin may not.</summary>
    [JsonIgnore]
    public bool IsReported => HiddenFlag is not null && Metadata.ValueKind == JsonValueKind.Object;

    /// <param name="load">Counts, and its segments are all written.</param>
    public static JournalLoadDocument Of(JournalEntry load, Guid store) => new()
    {
        Store = store,
        Load = load.Load.Value,
        Mark = load.Mark,
        Breach = load.Breach.Name,
        Blob = load.Blob.Name,
        ETag = load.Blob.ETag,
        Generation = load.Generation,
        StartedAt = load.StartedAt,
        Settings = load.Settings,
        Rows = load.LastPosition,
        Accounts = load.Accounts,
        Segments = [.. load.Segments.Select(segment => new DocumentSegment(segment.First, segment.Last, segment.Bytes!.Value))],
        Replaces = [.. load.Replaces.Select(old => old.Value)],
        Version = load.Version,
        PublishedAt = load.PublishedAt!.Value,
        BreachPublishedAt = load.Breach.PublishedAt ?? load.PublishedAt.Value,
        ModifiedAt = load.ModifiedAt ?? load.PublishedAt.Value,
        Hidden = load.Breach.Hidden,
        Metadata = JsonSerializer.Deserialize(load.Breach.Metadata.ToJson(), JournalJson.Default.JsonElement),
    };

    /// <summary>Compares the load and its segments; other properties may differ.</summary>
    public bool IsOfSameLoad(JournalLoadDocument other) =>
        (Store, Load, Mark, Blob, ETag, Generation, StartedAt, Rows)
            == (other.Store, other.Load, other.Mark, other.Blob, other.ETag, other.Generation, other.StartedAt, other.Rows)
        && Settings == other.Settings && Segments.SequenceEqual(other.Segments);

    public byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(
        Metadata.ValueKind == JsonValueKind.Undefined ? this with { Metadata = JsonElement.Parse("null") } : this,
        JournalJson.Default.JournalLoadDocument);

    /// <summary>Checks everything but the breach's metadata.</summary>
    /// <returns>The first fault, for an error message; null if the document is valid.</returns>
    public string? FindFault() =>
        Load is < 1 or > DocumentLimits.MaxId ? $"load {Load}; expected 1 to {DocumentLimits.MaxId}"
        : Mark is < 1 or > DocumentLimits.MaxId ? $"mark {Mark}; expected 1 to {DocumentLimits.MaxId}"
        : Generation < 1 ? $"generation {Generation}; expected 1 and up"
        : Version is < 0 or > DocumentLimits.MaxVersion ? $"version {Version}; expected at most {DocumentLimits.MaxVersion}"
        : Accounts < 0 || Accounts > Rows ? $"{Accounts} accounts in {Rows} rows"
        : Replaces is null || Replaces.Any(load => load < 1 || load >= Load) ? "replaced loads that are not older"
        : DocumentLimits.FindFault(StartedAt, PublishedAt, BreachPublishedAt, ModifiedAt)
            ?? DocumentLimits.FindFault(Breach, Blob, ETag) ?? FindFaultOfSettings() ?? FindFaultOfSegments();

    private string? FindFaultOfSettings() =>
        Settings is not { Limits: not null, TopLevelDomains: not null } ? "no settings"
        : Settings.BatchRows is < 1 or > SegmentLimits.Rows || Settings.SliceRows is < 1 or > SegmentLimits.BlockRows
            ? $"{Settings.BatchRows} rows a batch and {Settings.SliceRows} a slice" : null;

    private string? FindFaultOfSegments()
    {
        var end = 0L;
        foreach (var segment in Segments ?? [])
        {
            if (segment is null || segment.First != end + 1 || segment.Last < segment.First || segment.Bytes < 1
                || segment.Last - segment.First >= SegmentLimits.Rows)
            {
                return $"an invalid segment after position {end}";
            }
            end = segment.Last;
        }
        return end != Rows || end == 0 ? $"{Rows} rows, and segments with {end}" : null;
    }
}

/// <summary>A segment in a load's document.</summary>
/// <param name="First">The first position, which is part of the blob's name.</param>
public sealed record DocumentSegment(long First, long Last, long Bytes);

/// <summary>Says that the load was removed; overrides everything else in its folder. Its JSON is a contract.</summary>
public sealed record RemovedDocument
{
    public int Format { get; init; } = JournalLoadDocument.CurrentFormat;

    public required Guid Store { get; init; }

    public required long Load { get; init; }

    /// <summary>The load's mark; 0: it had none.</summary>
    public required int Mark { get; init; }

    /// <summary>Loads that it replaced: they aren't current, although it was removed.</summary>
    public required IReadOnlyList<long> Replaces { get; init; }

    /// <summary>
    /// All loads that were removed with it, including itself: the first document of a removal stands for the others, which may not have
    /// been written. Null if an older program wrote the document.
    /// </summary>
    public IReadOnlyList<RemovedLoad>? Loads { get; init; }

    public static RemovedDocument Of(JournalEntry load, Guid store, IReadOnlyList<RemovedLoad>? loads = null) =>
        new()
        {
            Store = store,
            Load = load.Load.Value,
            Mark = load.Mark,
            Replaces = [.. load.Replaces.Select(old => old.Value)],
            Loads = loads,
        };

    public byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(this, JournalJson.Default.RemovedDocument);

    /// <returns>The first fault, for an error message; null if the document is valid.</returns>
    public string? FindFault() =>
        Load is < 1 or > DocumentLimits.MaxId || Mark is < 0 or > DocumentLimits.MaxId
            ? $"load {Load} with mark {Mark}; expected at most {DocumentLimits.MaxId}"
        : Replaces is null || Replaces.Any(load => load < 1 || load >= Load) ? "loads that it replaced and that are not older"
        : Loads?.Any(one => one is not { Load: >= 1 and <= DocumentLimits.MaxId, Blob.Length: > 0, ETag.Length: > 0 }) == true
            ? "an invalid load among those removed with it"
        : null;
}

/// <param name="Blob">Name of the breach archive.</param>
public sealed record RemovedLoad(long Load, string Blob, [property: JsonPropertyName("etag")] string ETag);

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, WriteIndented = true)]
[JsonSerializable(typeof(JournalLoadDocument))]
[JsonSerializable(typeof(RemovedDocument))]
[JsonSerializable(typeof(JsonElement))]
internal sealed partial class JournalJson : JsonSerializerContext;
