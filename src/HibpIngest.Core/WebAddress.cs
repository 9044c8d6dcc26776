namespace HibpIngest;

public static class WebAddress
{
    /// <summary>
    /// Returns whether a text can be used as a link: http or https, absolute, and without user information, which could be mistaken for the
    /// host.
    /// </summary>
    public static bool IsLink(string text) => TryParseLink(text) is not null;

    /// <summary>Parses a link as <see cref="IsLink"/> defines it.</summary>
    /// <returns>Null if the text is no such link.</returns>
    public static Uri? TryParseLink(string text) =>
        Uri.TryCreate(text.Trim(), UriKind.Absolute, out var address) && address.Scheme is "http" or "https" && address is
        { Host.Length: > 0, UserInfo.Length: 0 } ? address : null;

    /// <summary>
    /// Returns whether links to pages of this address may be mailed: it is https, or, for trying it out, http on this machine.
    /// </summary>
    public static bool CarriesLinks(string address) =>
        TryParseLink(address) is { } link && (link.Scheme == Uri.UriSchemeHttps || link.IsLoopback);

    /// <summary>Parses the base URL of all links, and removes trailing slashes.</summary>
    /// <exception cref="BadInputException">Not an http or https URL, or it has a query or a fragment.</exception>
    public static string ParseBase(string setting, string text) =>
        TryParseLink(text) is { Query.Length: 0, Fragment.Length: 0 } address
            ? address.AbsoluteUri.TrimEnd('/')
            : throw new BadInputException(
                $"{setting}: expected the URL of the website, such as https://breaches.example.com, without a query");
}
