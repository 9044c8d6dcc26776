using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Delivery;

/// <summary>A mail server and how to speak to it. Not a record: its text would hold the password.</summary>
public sealed class SmtpServer
{
    public required string Host { get; init; }

    public required int Port { get; init; }

    public required SmtpTls Tls { get; init; }

    /// <summary>Null: no login.</summary>
    public string? User { get; init; }

    public string? Password { get; init; }

    /// <summary>
    /// Longest wait for a connection, for the TLS handshake and for the answer to a command. RFC 5321 would
    /// have five minutes, for relays in batch mode.
    /// </summary>
    public TimeSpan CommandTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Longest time for a whole mail, the wait for a free connection included: less than the half claim (five
    /// minutes) that a sender keeps for the mail in hand.
    /// </summary>
    public TimeSpan MailTimeout { get; init; } = TimeSpan.FromMinutes(4);

    /// <summary>Longest time to send the message itself, and again for the answer to it.</summary>
    public TimeSpan MessageTimeout { get; init; } = TimeSpan.FromMinutes(2);

    /// <summary>
    /// How long the answer to a message is still waited for once the sender has been cancelled: a mail whose
    /// fate is known is not sent twice.
    /// </summary>
    public TimeSpan CancelledMessageTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// A connection unused for longer is not used again. Servers close theirs after some minutes, several after
    /// one.
    /// </summary>
    public TimeSpan IdleTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Connections at once; further mails wait for one to be free. Many servers allow no more than ten from one
    /// client.
    /// </summary>
    public int MaxConnections { get; init; } = 4;

    /// <summary>Mails sent over one connection before it is closed; Postfix and Exchange have limits of this order.</summary>
    public int MaxMailsPerConnection { get; init; } = 100;

    /// <summary>Roots to trust instead of the system's; null: the system's.</summary>
    public X509Certificate2Collection? TrustedRoots { get; init; }

    /// <summary>Without user and password.</summary>
    public override string ToString() => $"{Host}:{Port}";
}
