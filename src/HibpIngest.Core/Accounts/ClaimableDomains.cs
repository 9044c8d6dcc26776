using System.Collections.Frozen;

namespace HibpIngest.Accounts;

/// <summary>
/// Decides which domains can have an owner who sees their accounts. Nobody owns a public suffix (publicsuffix.org; the list is embedded as
/// <c>public-suffixes.txt</c>, and <c>refresh-public-suffixes.sh</c> downloads the current one), nor the mailboxes of a mail provider.
/// </summary>
public static class ClaimableDomains
{
    // The largest in lists of breached addresses; their users are not their employees.
    private static readonly FrozenSet<string> Providers =
    [
        "126.com", "163.com", "aim.com", "aol.com", "att.net", "bigpond.com", "bluewin.ch", "btinternet.com", "charter.net", "comcast.net",
        "cox.net", "duck.com", "email.com", "fastmail.com", "free.fr", "freenet.de", "gmail.com", "gmx.at", "gmx.ch", "gmx.com", "gmx.de",
        "gmx.net", "googlemail.com", "hey.com", "hotmail.co.uk", "hotmail.com", "hotmail.de", "hotmail.es", "hotmail.fr", "hotmail.it",
        "icloud.com", "inbox.ru", "laposte.net", "libero.it", "list.ru", "live.co.uk", "live.com", "live.fr", "live.nl", "mac.com",
        "mail.com", "mail.ru", "me.com", "msn.com", "naver.com", "ntlworld.com", "o2.pl", "orange.fr", "outlook.com", "outlook.de",
        "outlook.fr", "proton.me", "protonmail.com", "qq.com", "rambler.ru", "rediffmail.com", "rocketmail.com", "sbcglobal.net",
        "seznam.cz", "sfr.fr", "shaw.ca", "sina.com", "sky.com", "t-online.de", "terra.com.br", "tiscali.it", "tutanota.com", "uol.com.br",
        "verizon.net", "virgilio.it", "virginmedia.com", "wanadoo.fr", "web.de", "wp.pl", "ya.ru", "yahoo.ca", "yahoo.co.in",
        "yahoo.co.jp", "yahoo.co.uk", "yahoo.com", "yahoo.com.ar", "yahoo.com.au", "yahoo.com.br", "yahoo.com.mx", "yahoo.de", "yahoo.es",
        "yahoo.fr", "yahoo.in", "yahoo.it", "yandex.com", "yandex.ru", "ymail.com", "zoho.com",
    ];

    private static readonly Lazy<FrozenSet<string>> Rules = new(ReadRules);

    /// <summary>Returns whether a domain may be claimed.</summary>
    /// <param name="domain">Lower-case ASCII.</param>
    public static bool CanHaveOwner(string domain) => !IsPublicSuffix(domain) && !Providers.Contains(domain);

    /// <summary>Returns whether the rule that prevails for a domain covers all of it (github.com/publicsuffix/list/wiki/Format).</summary>
    /// <param name="domain">Lower-case ASCII.</param>
    public static bool IsPublicSuffix(string domain)
    {
        var (rules, dot) = (Rules.Value, domain.IndexOf('.', StringComparison.Ordinal));
        if (rules.Contains("!" + domain))
            return false;
        // The default rule is *: every top-level domain is a public suffix.
        return dot < 0 || rules.Contains(domain) || rules.Contains("*" + domain[dot..]);
    }

    private static FrozenSet<string> ReadRules()
    {
        const string Resource = "public-suffixes.txt";
        using var stream = typeof(ClaimableDomains).Assembly.GetManifestResourceStream(Resource)
            ?? throw new InvalidOperationException($"the assembly is missing its resource {Resource}");
        using var reader = new StreamReader(stream, Encoding.UTF8);
        var (names, rules) = (new IdnMapping(), new List<string>());
        while (reader.ReadLine() is { } line)
        {
            if (line.StartsWith("//", StringComparison.Ordinal))
                continue;
            // Accounts have domains in ASCII.
            var prefix = line.StartsWith("*.", StringComparison.Ordinal) ? "*." : line[0] == '!' ? "!" : "";
            rules.Add(prefix + names.GetAscii(line[prefix.Length..]).ToLowerInvariant());
        }
        return rules.ToFrozenSet(StringComparer.Ordinal);
    }
}
