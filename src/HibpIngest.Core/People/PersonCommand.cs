using System.Buffers.Text;
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
            // The inner exception is left out: it could repeat the content.
            throw new UnreadableMessageException(
                "the command can't be opened: HIBP_COMMAND_PUBLIC_KEY of the web app and HIBP_COMMAND_KEY of this host must be a pair");
        }
    }

    protected override bool IsComplete() => !string.IsNullOrEmpty(Sealed);
}

/// <summary>A request that a person makes on a page or by a link in a mail.</summary>
public sealed record PersonCommand(CommandKind Kind)
{
    /// <summary>Maximum time that a command may wait in the queue; the ids of applied commands are kept longer.</summary>
    public static readonly TimeSpan MaxAge = TimeSpan.FromDays(7);

    private static readonly JsonSerializerOptions Json = new(JsonSerializerDefaults.Web)
    {
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        Converters =
        {
            new JsonStringEnumConverter<CommandKind>(JsonNamingPolicy.CamelCase, allowIntegerValues: false),
            new JsonStringEnumConverter<OptOutLevel>(JsonNamingPolicy.CamelCase, allowIntegerValues: false),
            new JsonStringEnumConverter<ProofKind>(JsonNamingPolicy.CamelCase, allowIntegerValues: false),
        },
    };

    /// <summary>Random; a command that arrives again is recognised by it.</summary>
    public Guid Id { get; init; }

    /// <summary>Time of the command. Commands whose time is further than <see cref="MaxAge"/> from now are ignored.</summary>
    public DateTimeOffset At { get; init; }

    /// <summary>The address that the command is about, trimmed and in lower case.</summary>
    public string? Email { get; init; }

    /// <summary>Network of the caller, for limits.</summary>
    public string? Network { get; init; }

    /// <summary>Token of the followed link.</summary>
    public string? Token { get; init; }

    /// <summary>Readers that the address is to be hidden from.</summary>
    public OptOutLevel Level { get; init; }

    /// <summary>Hash of the API key that shall get <see cref="Domain"/>.</summary>
    public string? Key { get; init; }

    /// <summary>Lower-case ASCII.</summary>
    public string? Domain { get; init; }

    /// <summary>How the domain is proven. If by a mail to a mailbox of it, there is no <see cref="Email"/>.</summary>
    public ProofKind? Proof { get; init; }

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

    /// <summary>Subscribe an address to a domain, or give the domain to an API key, once it is proven and confirmed.</summary>
    RequestDomain,

    /// <summary>The recipient of the mail about a domain confirms it.</summary>
    ConfirmDomain,

    /// <summary>The subscriber of a domain wants to see its accounts.</summary>
    SignIn,
}
