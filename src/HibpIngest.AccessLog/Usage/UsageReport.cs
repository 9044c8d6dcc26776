using System.Text.Json;
using System.Text.Json.Serialization;

namespace HibpIngest.AccessLog;

/// <summary>How often what was asked. As JSON its shape is a contract: properties are added, never renamed.</summary>
/// <param name="By">What it is counted by: route, key, hour or status.</param>
/// <param name="Lines">By hour or status in their order, else what was asked most first.</param>
public sealed record UsageReport(
    DateTimeOffset From, DateTimeOffset To, string By, IReadOnlyList<UsageLine> Lines, UsageLine Total)
{
    /// <summary>As JSON, in UTF-8.</summary>
    public byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(this, UsageJson.Default.UsageReport);
}

/// <summary>Requests of one route, key, hour or status; of the total, of none of them.</summary>
public sealed record UsageLine
{
    /// <summary>Instead of a key's digits: the requests came without one.</summary>
    public const string NoKey = "-";

    /// <summary>Template of the route.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Route { get; init; }

    /// <summary>First 16 hex digits of the key's SHA-256, or <see cref="NoKey"/>.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Key { get; init; }

    /// <summary>What the key is called, if there is one of these digits still.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Name { get; init; }

    /// <summary>Beginning of the hour.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public DateTimeOffset? Hour { get; init; }

    /// <summary>HTTP status.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public int? Status { get; init; }

    public long Requests { get; init; }

    /// <summary>Those of them that were answered 5xx.</summary>
    public long ServerErrors { get; init; }

    /// <summary>Bytes of their bodies, as far as they are known.</summary>
    public long Bytes { get; init; }

    /// <summary>How long one took, in microseconds: the mean, rounded down; 0 where there are none.</summary>
    public long MeanMicroseconds { get; init; }

    /// <summary>How long the longest took, in microseconds.</summary>
    public long LongestMicroseconds { get; init; }
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(UsageReport))]
internal sealed partial class UsageJson : JsonSerializerContext;
