namespace HibpIngest.Delivery;

/// <summary>How the connection to a mail server is encrypted.</summary>
public enum SmtpTls
{
    None,

    /// <summary>By the command STARTTLS, without which nothing is sent.</summary>
    StartTls,

    /// <summary>From the first byte.</summary>
    Implicit,
}
