namespace HibpIngest.Api.Callers;

/// <summary>
/// Accounts at hibp-integration-tests.com, which give fixed results without reading a store, for any well-formed key
/// (haveibeenpwned.com/API/v3#TestAccounts). The breaches are made up, with well-known names.
/// </summary>
internal sealed class TestAccounts
{
    private const string Domain = "@hibp-integration-tests.com";

    private static readonly Dictionary<string, PublishedBreach> Breaches = new[]
    {
        Breach("Adobe", BreachFlags.Verified),
        Breach("Gawker", BreachFlags.Verified),
        Breach("Stratfor", BreachFlags.Verified),
        Breach("OnlinerSpambot", BreachFlags.Verified | BreachFlags.SpamList),
        Breach("StealerLogsJan2025", BreachFlags.Verified | BreachFlags.StealerLog),
        Breach("SubscriptionFree", BreachFlags.Verified | BreachFlags.SubscriptionFree),
        Breach("Unverified", BreachFlags.None),
    }.ToDictionary(breach => breach.Model.Name);

    /// <summary>Accounts and their breaches; sensitive, retired and opted-out ones have none.</summary>
    private static readonly Dictionary<string, PublishedBreach[]> Accounts = new(StringComparer.OrdinalIgnoreCase)
    {
        ["account-exists"] = Of("Adobe"),
        ["multiple-breaches"] = Of("Adobe", "Gawker", "Stratfor"),
        ["not-active-and-active-breach"] = Of("Adobe"),
        ["not-active-breach"] = [],
        ["opt-out"] = [],
        ["opt-out-breach"] = [],
        ["permanent-opt-out"] = [],
        ["sensitive-breach"] = [],
        ["paste-sensitive-breach"] = [],
        ["sensitive-and-other-breaches"] = Of("Adobe", "Gawker"),
        ["spam-list-only"] = Of("OnlinerSpambot"),
        ["spam-list-and-others"] = Of("Adobe", "OnlinerSpambot"),
        ["subscription-free-breach"] = Of("SubscriptionFree"),
        ["subscription-free-and-other-breaches"] = Of("Adobe", "Gawker", "SubscriptionFree"),
        ["stealer-log"] = Of("StealerLogsJan2025"),
        ["unverified-breach"] = Of("Unverified"),
    };

    public static bool IsOne(string account) => account.EndsWith(Domain, StringComparison.OrdinalIgnoreCase);

    public IReadOnlyList<PublishedBreach>? Find(string account) =>
        !IsOne(account) ? null : Accounts.GetValueOrDefault(account[..^Domain.Length], []);

    private static PublishedBreach[] Of(params string[] names) => [.. names.Select(name => Breaches[name])];

    private static PublishedBreach Breach(string name, BreachFlags flags)
    {
        var metadata = new BreachMetadata
        {
            Domain = $"{name.ToLowerInvariant()}.example",
            BreachDate = new DateOnly(2013, 10, 4),
            Description = $"A made-up breach for testing clients, by the name of {name}.",
            DataClasses = ["Email addresses", "Passwords"],
            Flags = flags,
        };
        return PublishedBreach.Of(PublicBreach.Of(new Breach { Name = name, Metadata = metadata }) with { PwnCount = 1_000 }, 0);
    }
}
