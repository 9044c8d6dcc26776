using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Api.Routes;

/// <summary>A route's rules, which the middleware applies; every endpoint of the API has one as metadata.</summary>
/// <param name="Template">The route's template, which logs and metrics name it by. Its last segment may be a parameter.</param>
internal sealed record ApiRoute(string Template, RouteAccess Access, IReadOnlyList<string> Methods)
{
    private readonly int _parameterAt = Template.Split('/', StringSplitOptions.RemoveEmptyEntries).Length - 1;

    /// <summary>True if a key is required, unless the server is open.</summary>
    public bool TakesKey => Access is RouteAccess.Key or RouteAccess.KeyWithText or RouteAccess.Enterprise or RouteAccess.Client
        or RouteAccess.Append;

    /// <summary>True if requests are limited: by key, or by network if people send them.</summary>
    public bool HasLimit => TakesKey || Access is RouteAccess.Search or RouteAccess.Form;

    public bool NeedsUserAgent => Access is RouteAccess.Catalogue or RouteAccess.Key or RouteAccess.KeyWithText;

    /// <summary>True if scripts of other sites may read the response.</summary>
    public bool IsForBrowsers => Access is RouteAccess.Catalogue or RouteAccess.Passwords;

    /// <summary>True if a request is in the access log before its response: it is billed by its key, or counted exactly.</summary>
    public bool IsLoggedFirst => TakesKey || IsCounted;

    /// <summary>True if requests are counted exactly, though not billed.</summary>
    public bool IsCounted { get; init; }

    /// <summary>True if it is a health probe: never logged before its response.</summary>
    public bool IsProbe { get; init; }

    public bool TakesTestAccounts { get; init; }

    public string Tag => Access switch
    {
        RouteAccess.Catalogue => "Breaches",
        RouteAccess.Key or RouteAccess.KeyWithText => "Accounts",
        RouteAccess.Enterprise or RouteAccess.Client => "Enterprise",
        RouteAccess.Open => "Service",
        RouteAccess.Page or RouteAccess.Form or RouteAccess.Search => "Pages",
        _ => "Pwned Passwords",
    };

    /// <summary>Returns whether an error of this status is plain text, as in Have I Been Pwned's contract, instead of JSON.</summary>
    public bool IsText(int status) => Access switch
    {
        RouteAccess.Passwords => true,
        RouteAccess.KeyWithText => status is 400 or 403 or 404,
        RouteAccess.Append => status is not (401 or 403 or 429),
        _ => false,
    };

    public IEnumerable<int> Statuses()
    {
        if (TakesKey)
            return [401, 403, 429, 503];
        return Access switch { RouteAccess.Catalogue => [403, 503], RouteAccess.Passwords => [503], _ => [] };
    }

    public static ApiRoute? Of(HttpContext context) => context.GetEndpoint()?.Metadata.GetMetadata<ApiRoute>();

    /// <summary>True if a person's browser sent a form, so that an error is a page.</summary>
    public static bool IsForm(HttpContext context) => Of(context)?.Access == RouteAccess.Form && !context.Request.HasJsonContentType();

    public static IEnumerable<ApiRoute> AllOf(IServiceProvider services) => services.GetRequiredService<EndpointDataSource>().Endpoints
        .Select(endpoint => endpoint.Metadata.GetMetadata<ApiRoute>()).OfType<ApiRoute>();

    /// <summary>
    /// Returns the last segment of a request's path, decoded once; empty if there is none. Not by model binding: a route value can't tell
    /// <c>%2F</c> from <c>%252F</c>.
    /// </summary>
    public static string ParameterOf(HttpContext context) => RequestTarget.Of(context)[Of(context)!._parameterAt];
}

internal enum RouteAccess
{
    /// <summary>Any caller with a user agent, including scripts of other sites.</summary>
    Catalogue,

    Key,

    /// <summary>Callers with a key; errors of the request are plain text.</summary>
    KeyWithText,

    /// <summary>Callers with a key in the header of the Enterprise API.</summary>
    Enterprise,

    /// <summary>Like <see cref="Enterprise"/>; the key must be a callback client's, and is required by an open server too.</summary>
    Client,

    /// <summary>Any caller, including scripts of other sites; every error is plain text.</summary>
    Passwords,

    /// <summary>Callers with a key in either of two headers, without a user agent; errors of the request are plain text.</summary>
    Append,

    Open,

    /// <summary>Browsers of people; the content security policy allows only this server's own scripts and styles.</summary>
    Page,

    /// <summary>The form of a page, or a mail program that posts to a link; limited per network where it causes a mail.</summary>
    Form,

    /// <summary>The script of a page of this server; limited per network.</summary>
    Search,
}
