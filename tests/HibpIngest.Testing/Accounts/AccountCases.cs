namespace HibpIngest.Testing;

public static class AccountCases
{
    private static readonly string Alias64 = new('a', 64);
    private static readonly string Label63 = new('b', 63);

    /// <summary>Texts with the results of their candidates, separated by blanks: an account, or the rule that one breaks.</summary>
    public static TheoryData<string, string> All() => new()
    {
        { "", "" },
        { "no account here", "" },
        { "bob@example.com", "bob@example.com" },
        { "  Bob.Smith+Tag_1-2@Mail.Example.COM\n", "bob.smith+tag_1-2@mail.example.com" },
        { "1;bob@example.com:5f4dcc3b", "bob@example.com" },
        { "a@b.com,c@d.org\tE@F.net", "a@b.com c@d.org e@f.net" },
        { "<a@b.com>'c@d.org'\"e@f.net\"", "a@b.com c@d.org e@f.net" },
        // Candidates are matched from left to right and don't overlap.
        { "a@b@c.com", "b@c.com" },
        { "a@bc@def.com", "bc@def.com" },
        { "a@bcd@efg.com", "DomainLength" },
        { "a@bcd@efg@hij.com", "DomainLength efg@hij.com" },
        { "a@b.com@c.com@d.org", "a@b.com c.com@d.org" },
        { "a@b.com_x@y.com", "a@b.com _x@y.com" },
        { "a@b.com+x@y.com", "a@b.com +x@y.com" },
        { "a@b_c@d.com", "b_c@d.com" },
        { "@@a@@b.com@@c@d.org", "c@d.org" },
        { "@b.com", "" },
        { "a@", "" },
        { "a@b", "" },
        { "a@bc", "" },
        { "a@bcd", "DomainLength" },
        // Escapes.
        { @"\nfoo@example.com", "foo@example.com" },
        { @"\tfoo@example.com\rbar@example.com", "foo@example.com bar@example.com" },
        { @"\r\nfoo@example.com", "foo@example.com" },
        { @"\n@example.com", "" },
        { @"\n@example.com@example.org", "example.com@example.org" },
        { @"\nn@example.com", "n@example.com" },
        { @"\Nfoo@example.com \bar@example.com", "nfoo@example.com bar@example.com" },
        { @"\\nfoo@example.com", "foo@example.com" },
        { @"nfoo@example.com", "nfoo@example.com" },
        { @"a@b.com\nc@d.org", "a@b.com c@d.org" },
        { @"\n.foo@example.com", "AliasPeriod" },
        { @"\n" + new string('a', 64) + "@b.com", new string('a', 64) + "@b.com" },
        { @"\n" + new string('a', 65) + "@b.com", "AliasLength" },
        // Alias.
        { Alias64 + "@b.com", Alias64 + "@b.com" },
        { Alias64 + "a@b.com", "AliasLength" },
        { ".a@b.com", "AliasPeriod" },
        { "a.@b.com", "AliasPeriod" },
        { "a..b@c.com", "AliasPeriod" },
        { ".@b.com", "AliasPeriod" },
        { "-_+@b.com", "-_+@b.com" },
        // Domain.
        { "a@b.de", "a@b.de" },
        { "a@.de", "DomainLength" },
        { "a@.com", "DomainShape" },
        { "a@" + Domain(255) + " ", "AccountLength" },
        { "a@" + Domain(256), "DomainLength" },
        { "a@" + Domain(253), "a@" + Domain(253) },
        { "a@" + Domain(254), "AccountLength" },
        { Alias64 + "@" + Domain(190), Alias64 + "@" + Domain(190) },
        { Alias64 + "@" + Domain(191), "AccountLength" },
        { "a@localhost", "DomainShape" },
        { "a@b.com.", "DomainShape" },
        { "a@b..com", "DomainShape" },
        { "a@-b.com", "DomainShape" },
        { "a@b.com-", "DomainShape" },
        { "a@b-.com", "DomainShape" },
        { "a@b.-com", "DomainShape" },
        { "a@b--c.com", "a@b--c.com" },
        { "a@" + Label63 + ".com", "a@" + Label63 + ".com" },
        { "a@" + Label63 + "b.com", "LabelLength" },
        { "a@b." + Label63, "TopLevelDomain" },
        { "a@b." + Label63 + "b", "LabelLength" },
        { "a@192.168.0.1", "DomainIsAddress" },
        { "a@255.255.255.255", "DomainIsAddress" },
        { "a@256.255.255.255", "TopLevelDomain" },
        { "a@1.2.3", "TopLevelDomain" },
        { "a@1.2.3.4.5", "TopLevelDomain" },
        { "a@1.2.3.4.com", "a@1.2.3.4.com" },
        { "logo@2x.png", "TopLevelDomain" },
        { "a@b.invalid", "TopLevelDomain" },
        { "a@b.c", "DomainLength" },
        { "a@b.cc", "a@b.cc" },
        { "a@bb.c", "TopLevelDomain" },
        { "a@b.xn--p1ai", "a@b.xn--p1ai" },
        { "a@b.XN--VERMGENSBERATUNG-PWB", "a@b.xn--vermgensberatung-pwb" },
        { "a@b.museum", "a@b.museum" },
        // The first broken rule is reported.
        { Alias64 + ".@b", "" },
        { Alias64 + ".@-b.c-", "AliasLength" },
        { ".a@-b.invalid", "AliasPeriod" },
        { "a@-b.invalid", "DomainShape" },
        { "a@" + Label63 + "b.invalid", "LabelLength" },
        // Outside ASCII: a part of the text may still be an account; otherwise it is counted.
        { "jörg@example.com", "rg@example.com" },
        { "a@example.comé b@c.de", "a@example.com b@c.de" },
        { "a@mail.comé.de", "a@mail.com" },
        { "é@example.com", "NonAscii" },
        { "é@example.com;b@c.de", "NonAscii b@c.de" },
        { "é@foo@bar.com", "foo@bar.com" },
        { "é@mail.foo@bar.com", "NonAscii mail.foo@bar.com" },
        { "é@localhost @example.com é @example.com é:@example.com", "" },
        { "andré.dupont@example.fr", "NonAscii" },
        { "andré..dupont@example.fr .dupont@example.fr", "NonAscii AliasPeriod" },
        { "a@exämple.com", "NonAscii" },
        { "a@müller-straße.example", "NonAscii" },
        { "a@ü.de", "NonAscii" },
        { "a@straße.de", "NonAscii" },
        { "a@sub.straße.de x@straße", "NonAscii DomainShape" },
        { "é@ü.de", "NonAscii" },
        { "用户@例子.广告", "NonAscii" },
        { "a@example.рф", "NonAscii" },
        { "a@b.рф a@b..рф", "NonAscii DomainLength" },
        { "logo@2x.png»", "TopLevelDomain" },
        { "a@bé a@é. a@.é a@é", "" },
        { "a@bé@c.de", "NonAscii" },
        { "a@b" + new string('b', 300) + "é.de", "DomainLength" },
    };

    private static string Domain(int length)
    {
        var domain = "com";
        while (domain.Length < length)
            domain = new string('d', Math.Min(length - domain.Length - 1, domain.Length + 64 == length - 1 ? 62 : 63)) + "." + domain;
        return domain;
    }
}
