namespace HibpIngest.Pipeline.Mail;

/// <summary>The links of mails to people: built from HIBP_WEB_URL, never from a request.</summary>
public sealed class MailLinks(InstallationKeys keys, IOptions<SiteOptions> site)
{
    /// <summary>True if mails carry links: what they cause can be done, and the address is https, or this machine's.</summary>
    public bool AreOn =>
        keys is { Links: not null, Commands: not null, Suppression: not null } && WebAddress.CarriesLinks(site.Value.WebUrl);

    /// <summary>Returns the link with which a mail's recipient unsubscribes; it never expires.</summary>
    /// <param name="subscription">Random id of a subscription, or of a request for one.</param>
    /// <returns>Null if mails carry no links.</returns>
    public string? Unsubscribe(Guid subscription) => AreOn ? Link("unsubscribe", LinkPurpose.Unsubscribe, subscription, null) : null;

    /// <summary>Returns the link with which a person verifies an address.</summary>
    public string Verify(Guid request, DateTimeOffset expires) => Link("verify", LinkPurpose.Verify, request, expires);

    /// <summary>Returns the link with which a person has an address hidden.</summary>
    public string OptOut(Guid request, OptOutLevel level, DateTimeOffset expires) => Link(
        "optout/confirm", level == OptOutLevel.All ? LinkPurpose.OptOutAll : LinkPurpose.OptOutPublic, request, expires);

    /// <summary>Returns the link with which a domain is confirmed.</summary>
    public string Domain(Guid request, DateTimeOffset expires) => Link("domains/confirm", LinkPurpose.Domain, request, expires);

    /// <summary>Returns the link with which the owner of a domain signs in.</summary>
    public string SignIn(string secret) => $"{Domains}/open?t={secret}";

    /// <summary>Address of the page about domains.</summary>
    public string Domains => $"{site.Value.WebUrl}/domains";

    private string Link(string page, LinkPurpose purpose, Guid id, DateTimeOffset? expires) =>
        $"{site.Value.WebUrl}/{page}?t={keys.Links!.Create(purpose, id, expires)}";
}
