using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Delivery;

/// <summary>A mail server and its connection settings. Not a record: its ToString would contain the password.</summary>
public sealed class SmtpServer
{
    public required string Host { get; init; }
    public required int Port { get; init; }
    public required SmtpTls Tls { get; init; }

    /// <summary>User to log in as; null to send without a login.</summary>
    public string? User { get; init; }
    public string? Password { get; init; }

    /// <summary>
    /// Maximum wait for a connection, for the TLS handshake and for the reply to a command. RFC 5321 recommends five minutes, for relays in
    /// batch mode.
    /// </summary>
    public TimeSpan CommandTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Maximum time for a whole mail, including the wait for a free connection: less than the half claim (five minutes) that a sender
    /// reserves for the mail in progress.
    /// </summary>
    public TimeSpan MailTimeout { get; init; } = TimeSpan.FromMinutes(4);

    /// <summary>Maximum time to send the message content, and again for the reply to it.</summary>
    public TimeSpan MessageTimeout { get; init; } = TimeSpan.FromMinutes(2);

    /// <summary>Maximum wait for the reply to a message after cancellation: a mail whose outcome is known is not sent twice.</summary>
    public TimeSpan CancelledMessageTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>A connection idle for longer is not reused. Servers close theirs after some minutes, several after one.</summary>
    public TimeSpan IdleTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Maximum connections; further mails wait for a free one. Many servers allow at most ten from one client.</summary>
    public int MaxConnections { get; init; } = 4;

    /// <summary>Mails sent over one connection before it is closed; Postfix and Exchange have limits of this order.</summary>
    public int MaxMailsPerConnection { get; init; } = 100;

    /// <summary>Roots to trust; null to trust the system's.</summary>
    public X509Certificate2Collection? TrustedRoots { get; init; }

    /// <summary>Returns host and port, without user and password.</summary>
    public override string ToString() => $"{Host}:{Port}";
}

public enum SmtpTls
{
    None,

    /// <summary>Upgrades with the STARTTLS command; if the server doesn't offer it, nothing is sent.</summary>
    StartTls,

    /// <summary>TLS from the first byte.</summary>
    Implicit,
}
