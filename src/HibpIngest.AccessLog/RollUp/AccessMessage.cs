using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Errors;

namespace HibpIngest.AccessLog;

/// <summary>A message of queue <c>access-rollup</c>: a blob of the access log has been ended, and is to be counted.</summary>
/// <param name="Blob">Its name within the container.</param>
public sealed record AccessMessage(string Blob)
{
    /// <summary>The queue's name.</summary>
    public const string Queue = "access-rollup";

    /// <summary>Reads one.</summary>
    /// <exception cref="BadInputException">It is none.</exception>
    public static AccessMessage Parse(string json)
    {
        try
        {
            if (JsonSerializer.Deserialize(json, AccessJson.Default.AccessMessage) is { Blob.Length: > 0 } message)
                return message;
        }
        catch (JsonException)
        {
            // Said below.
        }
        throw new BadInputException($"a message of queue {Queue} can't be read: something else wrote it");
    }

    /// <summary>As it is sent.</summary>
    public string ToJson() => JsonSerializer.Serialize(this, AccessJson.Default.AccessMessage);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(AccessMessage))]
internal sealed partial class AccessJson : JsonSerializerContext;
