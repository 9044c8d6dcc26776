using System.Text.Json.Serialization;

namespace HibpIngest.Api.AccessLog.Usage;

/// <summary>Counts of requests. The JSON's shape is a contract: properties are added, never renamed.</summary>
/// <param name="By">The grouping: route, key, hour or status.</param>
/// <param name="Lines">Lines by hour or status in that order; others in descending order of requests.</param>
public sealed record UsageReport(
    DateTimeOffset From, DateTimeOffset To, string By, IReadOnlyList<UsageLine> Lines, UsageLine Total)
{
    public byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(this, UsageJson.Default.UsageReport);
}

/// <summary>Requests of one route, key, hour or status; the total has none of these.</summary>
public sealed record UsageLine
{
    /// <summary>Value of <see cref="Key"/> for requests without a key.</summary>
    public const string NoKey = "-";

    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Route { get; init; }

    /// <summary>First 16 hex digits of the key's SHA-256, or <see cref="NoKey"/>.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Key { get; init; }

    /// <summary>The key's name; null if no key with these digits exists now.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public string? Name { get; init; }

    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public DateTimeOffset? Hour { get; init; }

    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public int? Status { get; init; }
    public long Requests { get; init; }

    /// <summary>Requests answered 5xx.</summary>
    public long ServerErrors { get; init; }

    /// <summary>Bytes of response bodies of known size.</summary>
    public long Bytes { get; init; }

    /// <summary>Mean duration in microseconds, rounded down; 0 if there are no requests.</summary>
    public long MeanMicroseconds { get; init; }
    public long LongestMicroseconds { get; init; }
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(UsageReport))]
internal sealed partial class UsageJson : JsonSerializerContext;

public enum UsageBy
{
    Route,

    Key,

    Hour,

    Status,
}
