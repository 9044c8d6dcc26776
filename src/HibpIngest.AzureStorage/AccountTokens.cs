using System.Net;
using Azure.Core;
using Azure.Identity;

namespace HibpIngest.AzureStorage;

/// <summary>
/// Takes an account's tokens from a credential, and sees whether the account has taken one: a token that can't
/// be had before then means a set-up that is wrong, and one that can't be had afterwards an outage of whoever
/// gives them (a metadata service that doesn't answer for a moment), which passes.
/// </summary>
internal sealed class AccountTokens(TokenCredential credential) : TokenCredential
{
    private volatile bool _taken;

    public override AccessToken GetToken(TokenRequestContext requestContext, CancellationToken cancellationToken)
    {
        try
        {
            return credential.GetToken(requestContext, cancellationToken);
        }
        catch (AuthenticationFailedException e) when (_taken)
        {
            throw new TokenOutageException(e);
        }
    }

    public override async ValueTask<AccessToken> GetTokenAsync(TokenRequestContext requestContext, CancellationToken cancellationToken)
    {
        try
        {
            return await credential.GetTokenAsync(requestContext, cancellationToken);
        }
        catch (AuthenticationFailedException e) when (_taken)
        {
            throw new TokenOutageException(e);
        }
    }

    /// <summary>Between the client libraries and the network, where all three services' answers come by.</summary>
    public HttpMessageHandler Watch(HttpMessageHandler network) => new Watcher(this) { InnerHandler = network };

    // 401 and 403 refuse the token; what is 500 or more may come from before the token was looked at.
    private static bool TakesToken(HttpStatusCode status) =>
        status is < HttpStatusCode.InternalServerError and not (HttpStatusCode.Unauthorized or HttpStatusCode.Forbidden);

    private sealed class Watcher(AccountTokens tokens) : DelegatingHandler
    {
        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            var response = await base.SendAsync(request, cancellationToken);
            if (TakesToken(response.StatusCode))
                tokens._taken = true;
            return response;
        }
    }
}

/// <summary>There is no token just now, from where there was one before.</summary>
internal sealed class TokenOutageException(AuthenticationFailedException inner) : AuthenticationFailedException(inner.Message, inner);
