using System.Security.Claims;
using Microsoft.AspNetCore.Authentication;

namespace HibpIngest.Api.Callers;

/// <summary>There is one instance for each cached key, shared by its requests.</summary>
internal sealed class Caller : ClaimsPrincipal
{
    public static readonly Caller Anybody = new(null);

    public Caller(ApiKey? key)
        : base(new ClaimsIdentity(ApiKeyHandler.SchemeName)) =>
        (Key, Result) = (key, Task.FromResult(AuthenticateResult.Success(new AuthenticationTicket(this, ApiKeyHandler.SchemeName))));

    /// <summary>Null if no key is required.</summary>
    public ApiKey? Key { get; }

    /// <summary>Completed.</summary>
    public Task<AuthenticateResult> Result { get; }

    public static Caller Of(HttpContext context) => context.User as Caller ?? Anybody;

    public bool Owns(string domain) => Key is null || Key.Domains.Contains(domain, StringComparer.Ordinal);
}
