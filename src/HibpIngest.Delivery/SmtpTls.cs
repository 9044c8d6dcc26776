namespace HibpIngest.Delivery;

/// <summary>How the connection to a mail server is encrypted.</summary>
public enum SmtpTls
{
    /// <summary>Not at all.</summary>
    None,

    /// <summary>By the command STARTTLS, without which nothing is sent.</summary>
    StartTls,

    /// <summary>From the first byte.</summary>
    Implicit,
}
