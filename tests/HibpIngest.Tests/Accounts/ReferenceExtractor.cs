namespace HibpIngest.Tests.Accounts;

/// <summary>
/// A simple implementation of what the scanner must find: the matches of one pattern in the whole text, in which every
/// non-ASCII character is a separator; accounts lost to such a character are counted. It shares only the list of
/// top-level domains with the scanner.
/// </summary>
internal static partial class ReferenceExtractor
{
    private const string DomainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

    public static (List<string> Accounts, long[] Broken) Extract(string text)
    {
        var accounts = new List<string>();
        var broken = new long[Enum.GetValues<AccountRule>().Length];
        foreach (Match match in Candidate().Matches(text))
        {
            var (alias, domain) = (match.Groups["alias"].Value.ToLowerInvariant(), match.Groups["domain"].Value.ToLowerInvariant());
            var (start, end) = (match.Groups["domain"].Index, match.Groups["domain"].Index + domain.Length);
            var followsNonAscii = match.Index > 0 && text[match.Index - 1] > 127;
            var endsWithNonAscii = end < text.Length && text[end] > 127;
            if (alias.Length == 0 || domain.Length < 3)
            {
                if (alias.Length == 0 ? followsNonAscii && HasDomain(text, start, start) : endsWithNonAscii && HasDomain(text, start, end))
                    broken[(int)AccountRule.NonAscii]++;
            }
            else if (FirstBroken(alias, domain) is { } rule)
            {
                var nonAscii = (rule == AccountRule.AliasPeriod && alias[0] == '.' && followsNonAscii)
                    || (domain.Length <= 255 && endsWithNonAscii && HasDomain(text, start, end));
                broken[(int)(nonAscii ? AccountRule.NonAscii : rule)]++;
            }
            else
                accounts.Add(alias + "@" + domain);
        }
        return (accounts, broken);
    }

    /// <summary>
    /// Returns whether the domain characters from <paramref name="from"/> on, including non-ASCII ones, contain a label, a
    /// period, and a label that begins at <paramref name="minStart"/> or later.
    /// </summary>
    private static bool HasDomain(string text, int from, int minStart)
    {
        for (var k = from; k < text.Length && (text[k] > 127 || DomainCharacters.Contains(text[k])); k++)
        {
            if (k >= Math.Max(from + 2, minStart) && text[k] != '.' && text[k - 1] == '.' && text[k - 2] != '.')
                return true;
        }
        return false;
    }

    public static AccountRule? FirstBroken(string alias, string domain)
    {
        if (alias.Length < 1 || alias.Length > 64)
            return AccountRule.AliasLength;
        if (alias.StartsWith('.') || alias.EndsWith('.') || alias.Contains(".."))
            return AccountRule.AliasPeriod;
        if (domain.Length < 4 || domain.Length > 255)
            return AccountRule.DomainLength;
        if (!domain.Contains('.') || domain.StartsWith('.') || domain.EndsWith('.') || domain.Contains("..")
            || domain.StartsWith('-') || domain.EndsWith('-') || domain.Contains(".-") || domain.Contains("-."))
            return AccountRule.DomainShape;
        var labels = domain.Split('.');
        if (labels.Any(label => label.Length > 63))
            return AccountRule.LabelLength;
        if (labels.Length == 4 && labels.All(label => label.Length <= 3 && label.All(char.IsAsciiDigit) && int.Parse(label) <= 255))
            return AccountRule.DomainIsAddress;
        if (!TopLevelDomains.All.Contains(labels[^1]))
            return AccountRule.TopLevelDomain;
        if ((alias + "@" + domain).Length > 255)
            return AccountRule.AccountLength;
        return null;
    }

    /// <summary>Ends with the domain, or with the @ if the domain is too short or there is no alias. An escape isn't in an alias.</summary>
    [GeneratedRegex(
        @"(?>((?<=\\)[trn])?)((?<alias>[A-Za-z0-9.+_-]+)@(?<domain>[A-Za-z0-9.-]{3,})"
        + "|(?<alias>[A-Za-z0-9.+_-]*)@(?=(?<domain>[A-Za-z0-9.-]*)))", RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex Candidate();
}
