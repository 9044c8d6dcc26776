namespace HibpIngest.Pipeline.Settings;

/// <param name="Name">Display name; null if there is none.</param>
/// <param name="Address">ASCII, with one @.</param>
public sealed record MailFrom(string? Name, string Address)
{
    /// <summary>Maximum length of the name, in UTF-16 units.</summary>
    public const int MaxNameLength = 100;

    /// <summary>The part after the @; also the right side of the Message-ID.</summary>
    public string Domain => Address[(Address.LastIndexOf('@') + 1)..];

    /// <summary>Parses <c>name@example.com</c> or <c>Breach notices &lt;name@example.com&gt;</c>; the name may be quoted.</summary>
    /// <exception cref="BadInputException">The text has none of these forms; the message doesn't contain it.</exception>
    public static MailFrom Parse(string text)
    {
        text = text.Trim();
        string? name = null;
        var address = text;
        if (text.EndsWith('>') && text.IndexOf('<') is >= 0 and var open)
        {
            address = text[(open + 1)..^1].Trim();
            name = text[..open].Trim();
            if (name is ['"', .., '"'])
                name = name[1..^1].Replace("\\\"", "\"").Replace("\\\\", "\\").Trim();
            if (name.Length == 0)
                name = null;
        }
        if (!MailSyntax.IsAddress(address) || name is { Length: > MaxNameLength } || name?.Any(char.IsControl) == true)
            throw new BadInputException("HIBP_MAIL_FROM: expected an address, or Name <address>, as in Breach notices "
                + "<notices@example.com>, found another form (not shown: it may be an address)");
        return new MailFrom(name, address);
    }
}
