using HibpIngest.Accounts;
using HibpIngest.Lookup;

namespace HibpIngest.Web;

/// <summary>Single accounts.</summary>
internal sealed class AccountEndpoints(BreachedAccounts accounts, TestAccounts? tests = null)
{
    // What no mail system takes (RFC 5321, 4.5.3.1: 64 before the @, 255 behind it).
    private const int MostCharacters = 320;

    private static readonly ErrorAnswer NoAccount = new(
        400, $"The account is expected to be an email address: one @, no control characters, at most {MostCharacters} characters");

    /// <summary><c>GET /api/v3/breachedaccount/{account}</c>.</summary>
    public async Task BreachedAccountAsync(WebCall call)
    {
        var account = call.Parameter.Trim();
        if (!IsSensible(account))
        {
            await NoAccount.WriteAsync(call.Response);
            return;
        }
        IReadOnlyList<PublishedBreach> found = [];
        if (tests?.Find(account) is { } test)
            found = test;
        else if (AccountRules.TryParse(account, out var alias, out var domain, out _))
            found = await accounts.FindAsync(alias, domain, CancellationToken.None); // a moment: not worth a watch on who asks
        await WriteAsync(call, found);
    }

    /// <summary>
    /// <c>GET /api/v3/pasteaccount/{account}</c>: there are no pastes here. A client that asks for breaches and pastes at once
    /// takes a 404 for "none", and anything else for a failure.
    /// </summary>
    public Task PasteAccountAsync(WebCall call) =>
        (IsSensible(call.Parameter.Trim()) ? ErrorAnswer.NotFound : NoAccount).WriteAsync(call.Response);

    private static bool IsSensible(string account)
    {
        var at = account.IndexOf('@', StringComparison.Ordinal);
        return at >= 0 && account.IndexOf('@', at + 1) < 0 && account.Length <= MostCharacters && !account.Any(char.IsControl);
    }

    private static async Task WriteAsync(WebCall call, IReadOnlyList<PublishedBreach> found)
    {
        if (call.Query("domain") is { Length: > 0 } domain)
            found = [.. found.Where(breach => breach.Model.Domain.Equals(domain, StringComparison.OrdinalIgnoreCase))];
        if (!call.Flag("includeUnverified", otherwise: true))
            found = [.. found.Where(breach => breach.Model.IsVerified)];
        if (found.Count == 0)
            await ErrorAnswer.NotFound.WriteAsync(call.Response);
        else if (call.Flag("truncateResponse", otherwise: true))
            await JsonAnswer.WriteArrayAsync(call.Response, found, breach => breach.NameJson);
        else
            await JsonAnswer.WriteArrayAsync(call.Response, found, breach => breach.Json.Identity);
    }
}
