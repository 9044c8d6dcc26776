using System.Text.Encodings.Web;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Api.Callers;

/// <summary>The authentication scheme of API keys. A challenge sends the error that <see cref="ApiKeyAuthentication"/> recorded.</summary>
internal sealed class ApiKeyHandler(IOptionsMonitor<AuthenticationSchemeOptions> schemes, ApiKeyAuthentication authentication)
    : AuthenticationHandler<AuthenticationSchemeOptions>(schemes, NullLoggerFactory.Instance, UrlEncoder.Default)
{
    public const string SchemeName = "ApiKey";
    public const string KeyHeader = "hibp-api-key";
    public const string EnterpriseKeyHeader = "Hibp-Enterprise-Api-Key";

    /// <summary>The key header of password senders, named as in Azure API Management.</summary>
    public const string SubscriptionKeyHeader = "Ocp-Apim-Subscription-Key";

    protected override async Task<AuthenticateResult> HandleAuthenticateAsync() => await authentication.AuthenticateAsync(Context);

    protected override Task HandleChallengeAsync(AuthenticationProperties properties) =>
        ApiKeyAuthentication.RefusalOf(Context).ExecuteAsync(Context);

    protected override Task HandleForbiddenAsync(AuthenticationProperties properties) => ErrorResponse.NotAllowed.ExecuteAsync(Context);
}
