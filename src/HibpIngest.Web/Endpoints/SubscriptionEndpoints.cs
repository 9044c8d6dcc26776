using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>What a key is good for.</summary>
internal sealed class SubscriptionEndpoints(WebOptions options)
{
    // Keys don't end.
    private const string Never = "9999-12-31T23:59:59Z";

    private static readonly ErrorAnswer None = new(404, "No active subscription found.");

    /// <summary>What no key is good for here: stealer logs, which are not kept apart.</summary>
    public static Task NotIncludedAsync(WebCall call) => ErrorAnswer.NotAllowed.WriteAsync(call.Response);

    /// <summary><c>GET /api/v3/subscription/status</c>.</summary>
    public Task StatusAsync(WebCall call)
    {
        if (call.Caller.Key is not { } key)
            return None.WriteAsync(call.Response);
        return JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteString("SubscriptionName"u8, key.Name);
            writer.WriteString("Description"u8, $"{key.Rpm} requests a minute");
            writer.WriteString("SubscribedUntil"u8, Never);
            writer.WriteNumber("Rpm"u8, key.Rpm);
            writer.WriteNumber("DomainSearchMaxBreachedAccounts"u8, key.Scopes.HasFlag(KeyScopes.Domains) ? options.DomainMax : 0);
            writer.WriteNumber("MaxBreachedDomains"u8, key.Domains.Count);
            writer.WriteBoolean("IncludesStealerLogs"u8, false);
            writer.WriteBoolean("IncludesBulkDomainAdd"u8, false);
            writer.WriteBoolean("IncludesAutoSubdomainVerification"u8, false);
            writer.WriteBoolean("IncludesCustomerDomains"u8, false);
            writer.WriteBoolean("IncludesKAnon"u8, key.Scopes.HasFlag(KeyScopes.Range));
            writer.WriteEndObject();
        });
    }
}
