namespace HibpIngest.Tests.Accounts;

/// <summary>
/// A simple implementation of what the scanner must find: the whole text as one string in which every non-ASCII
/// character is a separator, and one loop over it; accounts lost to such a character are counted. It shares only the
/// list of top-level domains with the scanner.
/// </summary>
internal static class ReferenceExtractor
{
    private const string Letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    private const string AliasCharacters = Letters + "0123456789.-+_";
    private const string DomainCharacters = Letters + "0123456789.-";

    public static (List<string> Accounts, long[] Broken) Extract(string text)
    {
        var accounts = new List<string>();
        var broken = new long[Enum.GetValues<AccountRule>().Length];
        var i = 0;
        var floor = 0;
        while (i < text.Length)
        {
            if (text[i] != '@')
            {
                i++;
                continue;
            }
            var start = i;
            while (start > floor && AliasCharacters.Contains(text[start - 1]))
                start--;
            if (start < i && start > floor && text[start - 1] == '\\' && "trn".Contains(text[start]))
                start++;
            var end = i + 1;
            while (end < text.Length && DomainCharacters.Contains(text[end]))
                end++;
            var followsNonAscii = start > floor && text[start - 1] > 127;
            var endsWithNonAscii = end < text.Length && text[end] > 127;
            if (start == i || end - (i + 1) < 3)
            {
                if (start == i ? followsNonAscii && HasDomain(text, i + 1, i + 1) : endsWithNonAscii && HasDomain(text, i + 1, end))
                    broken[(int)AccountRule.NonAscii]++;
                i++;
                floor = i;
                continue;
            }
            var alias = text[start..i].ToLowerInvariant();
            var domain = text[(i + 1)..end].ToLowerInvariant();
            if (FirstBroken(alias, domain) is { } rule)
            {
                var nonAscii = (rule == AccountRule.AliasPeriod && alias[0] == '.' && followsNonAscii)
                    || (domain.Length <= 255 && endsWithNonAscii && HasDomain(text, i + 1, end));
                broken[(int)(nonAscii ? AccountRule.NonAscii : rule)]++;
            }
            else
                accounts.Add(alias + "@" + domain);
            i = floor = end;
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
}
