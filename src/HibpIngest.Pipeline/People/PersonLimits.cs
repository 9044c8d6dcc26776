namespace HibpIngest.Pipeline.People;

/// <summary>
/// The limits of mails that anybody can cause, counted in SQL over all hosts. Each is a window that ends now, not an hour of the clock.
/// </summary>
/// <param name="keys">The suppression key hashes what the counters are kept under.</param>
public sealed class PersonLimits(IOptions<MailOptions> options, InstallationKeys keys)
{
    /// <summary>The key that counts all mails.</summary>
    public const string All = "all";

    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);

    /// <summary>Returns the limits of a request, in the order in which they are checked.</summary>
    /// <param name="network">The caller's network.</param>
    /// <param name="isSuppressed">Whether the address has unsubscribed, or mails to it were refused.</param>
    public IReadOnlyList<MailLimit> Of(string email, string network, bool isSuppressed)
    {
        var key = keys.Suppression!;
        var address = key.HashOf(email);
        return
        [
            new(address, Hour, 1), new(address, TimeSpan.FromDays(1), 3),
            .. isSuppressed ? [new MailLimit(address, TimeSpan.FromDays(30), 1)] : (MailLimit[])[],
            // No address has a space, so that these hashes are no address' suppression.
            new(key.HashOf($"network {network}"), Hour, 20),
            new(key.HashOf($"domain {email[(email.IndexOf('@') + 1)..]}"), Hour, 200),
            new(All, Hour, options.Value.VerifyPerHour),
        ];
    }
}
