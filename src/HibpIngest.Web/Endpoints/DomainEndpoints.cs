using System.Buffers;
using System.Text.Json;
using HibpIngest.Accounts;
using HibpIngest.Errors;
using HibpIngest.Lookup;

namespace HibpIngest.Web;

/// <summary>All accounts of a domain, for its owner.</summary>
internal sealed class DomainEndpoints(BreachedAccounts accounts, DomainSizes sizes, WebOptions options)
{
    private const int FlushBytes = 32 * 1024;

    private static readonly ErrorAnswer NoDomain = new(400, "The domain is expected to be one, as example.com");
    private static readonly ErrorAnswer NotOwned = new(403, "The domain is not among those that your API key has been verified for");

    /// <summary>
    /// <c>GET /api/v3/breacheddomain/{domain}</c>: streamed. Whether there is anything, and whether it is too much, is known
    /// before the first byte; where a store fails later, the connection is aborted and the JSON is never closed.
    /// </summary>
    public async Task BreachedDomainAsync(WebCall call)
    {
        if (!AccountRules.TryParseDomain(call.Parameter, out var domain, out _))
        {
            await NoDomain.WriteAsync(call.Response);
            return;
        }
        if (!call.Caller.Owns(domain))
        {
            await NotOwned.WriteAsync(call.Response);
            return;
        }
        if (await sizes.IsTooLargeAsync(domain, call.Aborted))
        {
            await new ErrorAnswer(
                403, $"Your plan is too small for this domain: it has more than {options.DomainMax} breached accounts").WriteAsync(
                call.Response);
            return;
        }
        await using var found = accounts.ReadDomainAsync(domain, call.Aborted).GetAsyncEnumerator(call.Aborted);
        if (!await found.MoveNextAsync())
        {
            await ErrorAnswer.NotFound.WriteAsync(call.Response);
            return;
        }
        call.Response.ContentType = JsonAnswer.ContentType;
        if (!HttpMethods.IsHead(call.Context.Request.Method))
            await StreamAsync(call, found);
    }

    /// <summary><c>GET /api/v3/subscribeddomains</c>.</summary>
    public Task SubscribedDomainsAsync(WebCall call) => JsonAnswer.WriteAsync(call.Response, writer =>
    {
        writer.WriteStartArray();
        foreach (var domain in call.Caller.Key?.Domains ?? [])
        {
            writer.WriteStartObject();
            writer.WriteString("DomainName"u8, domain);
            writer.WriteNull("PwnCount"u8);
            writer.WriteNull("PwnCountExcludingSpamLists"u8);
            writer.WriteNull("PwnCountExcludingSpamListsAtLastSubscriptionRenewal"u8);
            writer.WriteNull("NextSubscriptionRenewal"u8);
            writer.WriteEndObject();
        }
        writer.WriteEndArray();
    });

    private static async Task StreamAsync(
        WebCall call, IAsyncEnumerator<(string Alias, IReadOnlyList<PublishedBreach> Breaches)> found)
    {
        var body = call.Response.BodyWriter;
        using var writer = new Utf8JsonWriter(body, JsonAnswer.Options);
        writer.WriteStartObject();
        do
        {
            writer.WriteStartArray(found.Current.Alias);
            foreach (var breach in found.Current.Breaches)
                writer.WriteStringValue(breach.Model.Name);
            writer.WriteEndArray();
            if (writer.BytesPending >= FlushBytes)
            {
                writer.Flush();
                await body.FlushAsync(call.Aborted);
            }
        }
        while (await found.MoveNextAsync());
        writer.WriteEndObject();
        writer.Flush();
        await body.FlushAsync(call.Aborted);
    }
}
