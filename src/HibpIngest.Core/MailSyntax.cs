using System.Buffers;

namespace HibpIngest;

/// <summary>Checks addresses for use in an envelope or a header without quoting.</summary>
public static class MailSyntax
{
    // RFC 5321's dot-string and domain; mails are never sent to quoted aliases or address literals.
    private static readonly SearchValues<char> AliasCharacters = SearchValues.Create(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+-/=?^_`{|}~");
    private static readonly SearchValues<char> DomainCharacters = SearchValues.Create(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");

    /// <summary>
    /// Returns whether an address can be written between &lt; and &gt; of an SMTP command unchanged: ASCII, one @, no space, bracket or
    /// line end. A domain may be a single label (localhost).
    /// </summary>
    public static bool IsAddress(ReadOnlySpan<char> address)
    {
        var at = address.IndexOf('@');
        return at is > 0 and <= 64 && address.Length <= 255 && IsDotted(address[..at], AliasCharacters)
            && IsDotted(address[(at + 1)..], DomainCharacters);
    }

    private static bool IsDotted(ReadOnlySpan<char> text, SearchValues<char> allowed) =>
        text.Length > 0 && !text.ContainsAnyExcept(allowed) && text[0] != '.' && text[^1] != '.' && text.IndexOf("..") < 0;
}
