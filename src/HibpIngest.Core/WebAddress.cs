using HibpIngest.Errors;

namespace HibpIngest;

public static class WebAddress
{
    /// <summary>
    /// Whether a text is an address that may stand in a link: http or https, absolute, and without a user, whose
    /// name would pass for the host's.
    /// </summary>
    public static bool IsLink(string text) => TryParseLink(text) is not null;

    /// <summary>The same as an address; null where it is none.</summary>
    public static Uri? TryParseLink(string text) =>
        Uri.TryCreate(text.Trim(), UriKind.Absolute, out var address) && address.Scheme is "http" or "https" && address is
        { Host.Length: > 0, UserInfo.Length: 0 } ? address : null;

    /// <summary>The address of the web, that every link is made from, without a slash at its end.</summary>
    /// <param name="setting">The setting's name, for the message.</param>
    /// <exception cref="BadInputException">It is no http or https address, or has a query or a fragment.</exception>
    public static string ParseBase(string setting, string text) =>
        TryParseLink(text) is { Query.Length: 0, Fragment.Length: 0 } address
            ? address.AbsoluteUri.TrimEnd('/')
            : throw new BadInputException(
                $"{setting} is expected to be the address of the web, as in https://breaches.example.com; found something else");
}
