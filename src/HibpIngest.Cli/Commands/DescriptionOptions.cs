using System.CommandLine.Parsing;

namespace HibpIngest.Cli.Commands;

/// <summary>The options that describe a breach; each sets a property of its metadata document.</summary>
internal sealed class DescriptionOptions
{
    private readonly Option<string?> _title = new("--title") { Description = "Title.", HelpName = "TEXT" };
    private readonly Option<string?> _domain =
        new("--domain") { Description = "Domain of the breached site.", HelpName = "DOMAIN", CustomParser = ParseDomain };
    private readonly Option<DateOnly?> _date =
        new("--date") { Description = "Date of the breach: yyyy-MM-dd.", HelpName = "DATE", CustomParser = ParseDate };
    private readonly Option<string?> _description = new("--description") { Description = "What happened.", HelpName = "TEXT" };
    private readonly Option<string?> _attribution = new("--attribution") { Description = "Source of the data.", HelpName = "TEXT" };
    private readonly Option<string?> _disclosure =
        new("--disclosure-url") { Description = "URL of the disclosure: https.", HelpName = "URL" };
    private readonly Option<string[]> _dataClasses = new("--data-class")
    {
        Description = "Exposed data (\"Email addresses\", Passwords). May be given several times.",
        HelpName = "TEXT",
    };
    private readonly (Option<bool?> Option, BreachFlags Flag)[] _flags =
    [
        (Flag("--verified", "The breach is confirmed. Otherwise mails and lookups say \"unverified\"."), BreachFlags.Verified),
        (Flag("--fabricated", "The breach is fabricated. Mails and lookups say so."), BreachFlags.Fabricated),
        (Flag("--sensitive", "No public lookup shows it; its subscribers are notified."), BreachFlags.Sensitive),
        (Flag("--retired", "No lookup shows it, and it sends no mails."), BreachFlags.Retired),
        (Flag("--spam-list", "A list of addresses used for spam. Mails and lookups say so."), BreachFlags.SpamList),
        (Flag("--malware", "Collected by malware. Mails and lookups say so."), BreachFlags.Malware),
        (Flag("--subscription-free", "A field of Have I Been Pwned's model: domain searches don't count the breach. Stored, without effect "
            + "here."), BreachFlags.SubscriptionFree),
        (Flag("--stealer-log", "From stealer logs. Mails and lookups say so."), BreachFlags.StealerLog),
    ];

    public IEnumerable<Option> All =>
        [_title, _domain, _date, _description, _attribution, _disclosure, _dataClasses, .. _flags.Select(one => one.Option)];

    public bool IsGiven(ParseResult parsed) => All.Any(option => parsed.GetResult(option) is { Implicit: false });

    /// <summary>Returns properties of a metadata document. A flag may be false, which clears it where that is allowed.</summary>
    public Dictionary<string, object?> Read(ParseResult parsed)
    {
        var values = new Dictionary<string, object?>();
        Put("Title", Trim(parsed.GetValue(_title)));
        Put("Domain", Trim(parsed.GetValue(_domain))?.ToLowerInvariant());
        Put("BreachDate", parsed.GetValue(_date)?.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture));
        Put("Description", Trim(parsed.GetValue(_description)));
        Put("Attribution", Trim(parsed.GetValue(_attribution)));
        Put("DisclosureUrl", Trim(parsed.GetValue(_disclosure)));
        Put("DataClasses", parsed.GetValue(_dataClasses) is { Length: > 0 } classes ? classes : null);
        foreach (var (option, flag) in _flags)
            Put("Is" + flag, parsed.GetValue(option));
        return values;

        void Put(string property, object? value)
        {
            if (value is not null)
                values[property] = value;
        }
    }

    public static string? Trim(string? text) => string.IsNullOrWhiteSpace(text) ? null : text.Trim();

    private static Option<bool?> Flag(string name, string description) =>
        new(name) { Description = description, Arity = ArgumentArity.ZeroOrOne, HelpName = "true|false" };

    private static string? ParseDomain(ArgumentResult result)
    {
        var domain = Trim(result.Tokens.Count > 0 ? result.Tokens[0].Value : null);
        if (domain is not null && !(domain.Contains('.', StringComparison.Ordinal) && Uri.CheckHostName(domain) == UriHostNameType.Dns))
            result.AddError($"--domain: expected the domain of a site, as example.com, found '{domain}'");
        return domain;
    }

    private static DateOnly? ParseDate(ArgumentResult result)
    {
        if (result.Tokens is [var token] && DateOnly.TryParseExact(
            token.Value, "yyyy-MM-dd", CultureInfo.InvariantCulture, DateTimeStyles.None, out var date))
        {
            // Tomorrow's date is accepted: it may already be that day in another time zone.
            if (date > DateOnly.FromDateTime(TimeProvider.System.GetUtcNow().UtcDateTime.AddDays(1)))
                result.AddError($"--date {token.Value} is in the future: when was it breached?");
            return date;
        }
        result.AddError("--date takes a date as yyyy-MM-dd");
        return null;
    }
}
