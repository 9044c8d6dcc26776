using HibpIngest.People;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// The limits of mails that anybody can cause, counted in SQL over all hosts. Each is a window that ends now, not an hour of the clock.
/// </summary>
/// <param name="keys">The suppression key hashes what the counters are kept under.</param>
public sealed class PersonLimits(
    IOptions<MailOptions> options, InstallationKeys keys, IOptOuts optOuts, SubscriberOperations subscribers)
{
    /// <summary>The key that counts all mails.</summary>
    public const string All = "all";

    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);

    /// <returns>The reason why an address can't be mailed to, or null.</returns>
    public async Task<string?> FindRefusalAsync(string? email, CancellationToken cancellationToken)
    {
        if (email is null || !AccountRules.TryParse(email, out var account, out _) || !MailSyntax.IsAddress(email))
            return "the request has no valid address";
        return await optOuts.GetOptOutAsync(account, cancellationToken) == OptOutLevel.All
            ? "the address is hidden from all, and gets no mail" : null;
    }

    /// <summary>Returns the limits of a request, in the order in which they are checked.</summary>
    /// <param name="email">The address that is mailed to.</param>
    public async Task<IReadOnlyList<MailLimit>> OfAsync(string email, PersonCommand command, CancellationToken cancellationToken)
    {
        // It has unsubscribed, or mails to it were refused.
        var isSuppressed = await subscribers.IsSuppressedAsync(email, command.Domain, cancellationToken);
        // Mails for API keys don't count against the limit of the mailbox's owner.
        var address = command.Key is null ? keys.Suppression!.HashOf(email) : Hash($"key {email}");
        return
        [
            new(address, Hour, 1), new(address, TimeSpan.FromDays(1), 3),
            .. isSuppressed ? [new MailLimit(address, TimeSpan.FromDays(30), 1)] : (MailLimit[])[],
            .. Common(email, command.Network),
        ];
    }

    /// <summary>Returns the limits of checks of domains that somebody says are proven.</summary>
    /// <param name="caller">The network, or the hash of the API key.</param>
    public IReadOnlyList<MailLimit> OfCheck(string caller, string domain) =>
        [new(Hash($"check by {caller}"), Hour, 20), new(Hash($"check of {domain}"), Hour, 200)];

    /// <summary>Returns the limits of a subscriber's request to sign in.</summary>
    /// <param name="network">The caller's network.</param>
    public IReadOnlyList<MailLimit> OfSignIn(string email, string? network)
    {
        var address = Hash($"sign in {email}");
        return [new(address, Hour, 5), new(address, TimeSpan.FromDays(1), 20), .. Common(email, network)];
    }

    private MailLimit[] Common(string email, string? network) =>
    [
        new(Hash($"network {network}"), Hour, 20),
        new(Hash($"domain {email[(email.IndexOf('@') + 1)..]}"), Hour, 200),
        new(All, Hour, options.Value.VerifyPerHour),
    ];

    // No address has a space, so that these hashes are no address' suppression.
    private string Hash(string text) => keys.Suppression!.HashOf(text);
}
