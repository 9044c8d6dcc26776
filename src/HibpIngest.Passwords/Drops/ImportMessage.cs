using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Errors;

namespace HibpIngest.Passwords;

/// <summary>A message of queue <c>passwords-import</c>: a group of a dropped file is to be imported.</summary>
/// <param name="Release">The release that it goes into (<see cref="ReleaseKey"/>).</param>
/// <param name="Mode">How its passwords are hashed.</param>
/// <param name="Plan">Which plan it is of: once there is another one, nothing is done.</param>
/// <param name="Group">The group, from 0 to 255.</param>
public sealed record ImportMessage(string Release, HashMode Mode, string Plan, int Group)
{
    /// <summary>Reads one.</summary>
    /// <exception cref="BadInputException">It is none.</exception>
    public static ImportMessage Parse(string json)
    {
        try
        {
            if (JsonSerializer.Deserialize(json, ImportMessageJson.Default.ImportMessage) is { Release: not null, Plan: not null } message
                && message.Group is >= 0 and < PasswordNames.Groups)
                return message;
        }
        catch (JsonException)
        {
            // Said below, without repeating it.
        }
        throw new BadInputException("a message of the import of passwords can't be read: something else wrote it");
    }

    /// <summary>As it is sent.</summary>
    public string ToJson() => JsonSerializer.Serialize(this, ImportMessageJson.Default.ImportMessage);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true)]
[JsonSerializable(typeof(ImportMessage))]
internal sealed partial class ImportMessageJson : JsonSerializerContext;
