using System.Buffers;

namespace HibpIngest.Accounts;

/// <summary>
/// Defines what makes a candidate an account, for the scanner and for single addresses. A candidate is a run of <c>A-Z a-z 0-9 . - + _</c>,
/// an <c>@</c> and a run of at least three of <c>A-Z a-z 0-9 . -</c>. The rules are those of <see cref="AccountRule"/>, checked in its
/// order.
/// </summary>
public static class AccountRules
{
    public const int MaxAliasLength = 64;
    public const int MinDomainLength = 4;
    public const int MaxDomainLength = 255;
    public const int MaxLabelLength = 63;

    /// <summary>Maximum length of an account in characters, including the @.</summary>
    public const int MaxAccountLength = 255;

    /// <summary>Minimum number of characters after an @ that make a candidate. Shorter runs are not counted as rejected.</summary>
    public const int MinCandidateDomainLength = 3;

    public static readonly SearchValues<byte> AliasBytes = SearchValues.Create(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-+_"u8);
    public static readonly SearchValues<byte> DomainBytes = SearchValues.Create(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-"u8);

    /// <summary>Parses a single address. After trimming and lower-casing it must be exactly one account.</summary>
    /// <param name="account">Default on failure.</param>
    /// <param name="broken">The first rule broken; null on success, and if the text doesn't have the form alias@domain.</param>
    public static bool TryParse(ReadOnlySpan<byte> email, out Account account, out AccountRule? broken)
    {
        account = default;
        broken = null;
        var text = email.Trim(" \t\r\n"u8);
        var at = text.IndexOf((byte)'@');
        if (at >= 0 && text.ContainsAnyInRange((byte)0x80, (byte)0xFF))
        {
            broken = AccountRule.NonAscii;
            return false;
        }
        if (at < 0 || text[..at].ContainsAnyExcept(AliasBytes) || text[(at + 1)..].ContainsAnyExcept(DomainBytes))
            return false;
        if (text.Length > MaxAliasLength + 1 + MaxDomainLength)
        {
            broken = at > MaxAliasLength ? AccountRule.AliasLength : AccountRule.DomainLength;
            return false;
        }
        Span<byte> lower = stackalloc byte[text.Length];
        Ascii.ToLower(text, lower, out _);
        if (Check(lower[..at], lower[(at + 1)..]) is { } rule)
        {
            broken = rule;
            return false;
        }
        account = new Account(Encoding.ASCII.GetString(lower[..at]), Encoding.ASCII.GetString(lower[(at + 1)..]));
        return true;
    }

    /// <inheritdoc cref="TryParse(ReadOnlySpan{byte}, out Account, out AccountRule?)"/>
    public static bool TryParse(string email, out Account account, out AccountRule? broken) =>
        TryParse(Encoding.UTF8.GetBytes(email.Trim()), out account, out broken);

    /// <summary>Parses a single domain. After trimming and lower-casing it must be valid as the domain of an account.</summary>
    /// <param name="domain">Lower-case; empty on failure.</param>
    /// <param name="broken">The first rule broken; null on success, and if the text has other characters than a domain.</param>
    public static bool TryParseDomain(string text, out string domain, out AccountRule? broken)
    {
        var isDomain = TryParse("a@" + text.Trim(), out var account, out broken);
        domain = isDomain ? account.Domain : "";
        return isDomain;
    }

    /// <summary>
    /// Returns the first rule that a candidate breaks. Both parts must be lower-case and hold only characters allowed in a candidate.
    /// </summary>
    /// <returns>Null if the candidate is an account.</returns>
    public static AccountRule? Check(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        if (alias.Length is 0 or > MaxAliasLength)
            return AccountRule.AliasLength;
        if (alias[0] == '.' || alias[^1] == '.' || alias.IndexOf(".."u8) >= 0)
            return AccountRule.AliasPeriod;
        if (domain.Length is < MinDomainLength or > MaxDomainLength)
            return AccountRule.DomainLength;

        var lastDot = -1;
        var longLabel = false;
        var previous = (byte)'.';
        for (var i = 0; i < domain.Length; i++)
        {
            var b = domain[i];
            if (b == '.')
            {
                if (previous is (byte)'.' or (byte)'-')
                    return AccountRule.DomainShape;
                longLabel |= i - lastDot - 1 > MaxLabelLength;
                lastDot = i;
            }
            else if (b == '-' && previous == '.')
            {
                return AccountRule.DomainShape;
            }
            previous = b;
        }
        if (lastDot < 0 || previous is (byte)'.' or (byte)'-')
            return AccountRule.DomainShape;
        if (longLabel || domain.Length - lastDot - 1 > MaxLabelLength)
            return AccountRule.LabelLength;
        if (char.IsAsciiDigit((char)previous) && IsAddress(domain))
            return AccountRule.DomainIsAddress;
        if (!TopLevelDomains.Contains(domain[(lastDot + 1)..]))
            return AccountRule.TopLevelDomain;
        if (alias.Length + 1 + domain.Length > MaxAccountLength)
            return AccountRule.AccountLength;
        return null;
    }

    /// <summary>Matches four labels of one to three digits, each at most 255.</summary>
    private static bool IsAddress(ReadOnlySpan<byte> domain)
    {
        var labels = 0;
        foreach (var range in domain.Split((byte)'.'))
        {
            var label = domain[range];
            if (label.Length is 0 or > 3)
                return false;
            var value = 0;
            foreach (var b in label)
            {
                if (!char.IsAsciiDigit((char)b))
                    return false;
                value = value * 10 + (b - '0');
            }
            if (value > 255)
                return false;
            labels++;
        }
        return labels == 4;
    }
}
