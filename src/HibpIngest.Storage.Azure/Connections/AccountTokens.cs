using System.Net;
using Azure.Identity;

namespace HibpIngest.Storage.Azure.Connections;

/// <summary>
/// Gets an account's tokens from a credential and records whether the account has accepted one. A token failure before that means a wrong
/// configuration; a failure afterwards is an outage of the token source (such as the metadata service), which passes.
/// </summary>
internal sealed class AccountTokens(TokenCredential credential) : TokenCredential
{
    private volatile bool _accepted;

    public override AccessToken GetToken(TokenRequestContext requestContext, CancellationToken cancellationToken)
    {
        try
        {
            return credential.GetToken(requestContext, cancellationToken);
        }
        catch (AuthenticationFailedException e) when (_accepted)
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
        catch (AuthenticationFailedException e) when (_accepted)
        {
            throw new TokenOutageException(e);
        }
    }

    /// <summary>Wraps the network below the client libraries, so that the responses of all three services are seen.</summary>
    public HttpMessageHandler Watch(HttpMessageHandler network) => new Watcher(this) { InnerHandler = network };

    private sealed class Watcher(AccountTokens tokens) : DelegatingHandler
    {
        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            var response = await base.SendAsync(request, cancellationToken);
            // 401 and 403 reject the token; 500 and above may be sent before the token was checked.
            if (response.StatusCode is < HttpStatusCode.InternalServerError
                and not (HttpStatusCode.Unauthorized or HttpStatusCode.Forbidden))
                tokens._accepted = true;
            return response;
        }
    }
}

internal sealed class TokenOutageException(AuthenticationFailedException inner) : AuthenticationFailedException(inner.Message, inner);
