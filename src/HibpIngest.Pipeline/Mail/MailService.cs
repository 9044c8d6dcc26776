namespace HibpIngest.Pipeline.Mail;

/// <summary>The operator of the service, as set in the environment; mails omit what isn't set.</summary>
public sealed record MailService
{
    public string? Name { get; init; }

    public string? Address { get; init; }

    /// <summary>How to reach it: a mail address or an https link (HIBP_SERVICE_CONTACT).</summary>
    public string? Contact { get; init; }

    /// <summary>Logo: a file, which each mail carries, or an https link, which mail programs may fetch (HIBP_SERVICE_LOGO).</summary>
    public string? Logo { get; init; }

    /// <summary>Folder of templates that replace the built-in ones of the same name (HIBP_TEMPLATES).</summary>
    public string? Templates { get; init; }

    /// <summary>Address, or mailto: link, for unsubscribing by mail (HIBP_UNSUBSCRIBE_MAILTO).</summary>
    public string? Unsubscribe { get; init; }

    /// <summary>Signs the mails (HIBP_DKIM_DOMAIN, HIBP_DKIM_SELECTOR, HIBP_DKIM_KEY); if null, they aren't signed.</summary>
    public MailSigner? Signer { get; init; }

    public string? UnsubscribeLink => Unsubscribe is null ? null : Unsubscribe.Contains(':') ? Unsubscribe : "mailto:" + Unsubscribe;

    public string? UnsubscribeAddress => UnsubscribeLink?["mailto:".Length..].Split('?')[0];

    /// <summary>Validates the values; <see cref="MailComposer"/> reads the files.</summary>
    /// <exception cref="BadInputException">A value is invalid; the message names the variable.</exception>
    public MailService Check()
    {
        const int MaxCharacters = 500;
        foreach (var (variable, text) in (IEnumerable<(string, string?)>)[("NAME", Name), ("ADDRESS", Address), ("CONTACT", Contact)])
        {
            if (text is not null && (text.Length > MaxCharacters || text.Any(char.IsControl)))
                throw new BadInputException($"HIBP_SERVICE_{variable}: expected one line of {MaxCharacters} characters at most");
        }
        if (Name is { Length: > MailFrom.MaxNameLength })
            throw new BadInputException($"HIBP_SERVICE_NAME: expected at most {MailFrom.MaxNameLength} characters");
        if (Contact is not null && !MailSyntax.IsAddress(Contact) && !IsHttps(Contact))
            throw new BadInputException("HIBP_SERVICE_CONTACT: expected an email address or an https link, such as https://HOST/PATH");
        if (Logo is not null && Logo.Contains("://", StringComparison.Ordinal) && !IsHttps(Logo))
            throw new BadInputException("HIBP_SERVICE_LOGO: expected a file or an https link, found another link");
        if (UnsubscribeLink is { } link && !IsMailTo(link))
        {
            throw new BadInputException("HIBP_UNSUBSCRIBE_MAILTO: expected an email address or a mailto: link, such as "
                + "mailto:unsubscribe@example.com?subject=unsubscribe");
        }
        return this;
    }

    public static bool IsHttps(string text) => WebAddress.TryParseLink(text) is { Scheme: "https" };

    // The link is put between < and > in a header, on one line of at most 998 characters.
    private static bool IsMailTo(string link) =>
        link.Length <= 900 && link.StartsWith("mailto:", StringComparison.Ordinal)
        && MailSyntax.IsAddress(link["mailto:".Length..].Split('?')[0])
        && !link.AsSpan().ContainsAnyExceptInRange('!', '~') && !link.AsSpan().ContainsAny("<>,\"");
}
