namespace HibpIngest.Delivery;

public enum SmtpTls
{
    None,

    /// <summary>By the command STARTTLS, without which nothing is sent.</summary>
    StartTls,

    /// <summary>From the first byte.</summary>
    Implicit,
}
