using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Messages;

namespace HibpIngest.People;

/// <summary>A sealed command of a person, as it waits in the queue.</summary>
[Queue(QueueNames.Commands)]
public sealed record CommandMessage : WorkMessage
{
    /// <summary>The command, sealed by <see cref="CommandSealer"/>, in base64url.</summary>
    public required string Sealed { get; init; }

    public static CommandMessage Of(PersonCommand command, CommandSealer sealer) =>
        new() { Sealed = Base64Url.EncodeToString(sealer.Seal(command.ToJson())) };

    /// <exception cref="UnreadableMessageException">It was sealed for another key, or holds no command.</exception>
    public PersonCommand Open(CommandKey key)
    {
        try
        {
            return PersonCommand.Parse(key.Open(Base64Url.DecodeFromChars(Sealed)));
        }
        catch (Exception e) when (e is CryptographicException or FormatException or JsonException)
        {
            // Without the inner exception, which could repeat the content.
            throw new UnreadableMessageException(
                "the command can't be opened: HIBP_COMMAND_PUBLIC_KEY of the web app and HIBP_COMMAND_KEY of this host must be a pair");
        }
    }

    protected override bool IsComplete() => !string.IsNullOrEmpty(Sealed);
}

/// <summary>Something that a person wants done, on a page or by a link in a mail.</summary>
/// <param name="Id">Random; a command that arrives again is recognised by it.</param>
/// <param name="At">When it was given. Commands whose time is further than <see cref="MaxAge"/> from now are ignored.</param>
/// <param name="Email">The address to subscribe, trimmed and in lower case.</param>
/// <param name="Network">Network of the caller, for limits.</param>
/// <param name="Token">Token of the followed link.</param>
/// <param name="Level">From whom the address shall be hidden.</param>
/// <param name="Key">Hash of the API key whose owner has proven <paramref name="Domain"/>.</param>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record PersonCommand(
    Guid Id, DateTimeOffset At, CommandKind Kind, string? Email = null, string? Network = null, string? Token = null,
    OptOutLevel Level = OptOutLevel.None, string? Key = null, string? Domain = null)
{
    /// <summary>For how long a command may wait in the queue; the ids of applied ones are kept longer.</summary>
    public static readonly TimeSpan MaxAge = TimeSpan.FromDays(7);

    private static readonly JsonSerializerOptions Json = new(JsonSerializerDefaults.Web)
    {
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        Converters =
        {
            new JsonStringEnumConverter<CommandKind>(JsonNamingPolicy.CamelCase),
            new JsonStringEnumConverter<OptOutLevel>(JsonNamingPolicy.CamelCase),
        },
    };

    internal byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(this, Json);

    internal static PersonCommand Parse(ReadOnlySpan<byte> json) =>
        JsonSerializer.Deserialize<PersonCommand>(json, Json) ?? throw new JsonException();

    // ToString must not show the address.
    private bool PrintMembers(System.Text.StringBuilder builder)
    {
        builder.Append(Kind);
        return true;
    }
}

/// <summary>The kinds of commands.</summary>
public enum CommandKind
{
    /// <summary>Subscribe an address to itself, once it is verified.</summary>
    Subscribe,

    /// <summary>The owner of the address confirms the subscription.</summary>
    Verify,

    Unsubscribe,

    /// <summary>Hide an address, once its owner has confirmed it.</summary>
    RequestOptOut,

    /// <summary>The owner of the address confirms that it shall be hidden.</summary>
    OptOut,

    /// <summary>The owner of an API key has proven a domain by its DNS.</summary>
    VerifyDomain,
}
