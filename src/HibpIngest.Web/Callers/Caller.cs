using System.Security.Claims;
using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>The caller of a route that takes a key. One is kept for each key, and shared by its requests.</summary>
internal sealed class Caller(ApiKey? key) : ClaimsPrincipal(new ClaimsIdentity(ApiKeyHandler.SchemeName))
{
    /// <summary>The caller where no key is required.</summary>
    public static readonly Caller Anybody = new(null);

    /// <summary>Null: no key is required.</summary>
    public ApiKey? Key => key;

    /// <summary>Returns the caller of a request, which is anybody for a route that takes no key.</summary>
    public static Caller Of(HttpContext context) => context.User as Caller ?? Anybody;

    /// <summary>Returns whether the caller may read all accounts of a domain.</summary>
    public bool Owns(string domain) => key is null || key.Domains.Contains(domain, StringComparer.Ordinal);
}
