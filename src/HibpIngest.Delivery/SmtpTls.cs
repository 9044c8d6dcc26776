namespace HibpIngest.Delivery;

public enum SmtpTls
{
    None,

    /// <summary>Upgrades with the STARTTLS command; if the server doesn't offer it, nothing is sent.</summary>
    StartTls,

    /// <summary>TLS from the first byte.</summary>
    Implicit,
}
