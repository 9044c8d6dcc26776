using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Web;

/// <summary>One address of the API, and who may ask there.</summary>
/// <param name="Template">As routes are written; what logs and measures name it by. Its last segment may be a parameter.</param>
/// <param name="Access">Who may ask, and in which form a refusal is said.</param>
/// <param name="Answer">Answers.</param>
internal sealed record WebRoute(string Template, RouteAccess Access, Func<WebCall, Task> Answer)
{
    /// <summary>How it is asked; where that is by GET, HEAD is answered too.</summary>
    public IReadOnlyList<string> Verbs { get; init; } = [HttpMethods.Get];

    /// <summary>All methods that it answers.</summary>
    public IReadOnlyList<string> Methods =>
        [.. Verbs, .. Verbs.Contains(HttpMethods.Get) ? (string[])[HttpMethods.Head] : [], HttpMethods.Options];

    /// <summary>What its key must be good for.</summary>
    public KeyScopes Scope { get; init; }

    /// <summary>Whether it needs a key in a deployment.</summary>
    public bool TakesKey => Access is RouteAccess.Key or RouteAccess.KeyWithText or RouteAccess.Enterprise or RouteAccess.Client
        or RouteAccess.Append;

    /// <summary>A request is in the access log before it is answered: it is billed by its key, or counted exactly.</summary>
    public bool IsLoggedFirst => TakesKey || IsCounted;

    /// <summary>It is counted exactly, though nobody is billed.</summary>
    public bool IsCounted { get; init; }

    /// <summary>It is asked how this process is, which is no matter of the log's.</summary>
    public bool IsProbe { get; init; }

    /// <summary>Its parameter is an account, which may be one of <see cref="TestAccounts"/>.</summary>
    public bool TakesTestAccounts { get; init; }

    /// <summary>Returns the routes that a host has mapped.</summary>
    public static IEnumerable<WebRoute> AllOf(IServiceProvider services) => services.GetRequiredService<EndpointDataSource>().Endpoints
        .Select(endpoint => endpoint.Metadata.GetMetadata<WebRoute>()).OfType<WebRoute>();

    /// <summary>Place of the template's parameter among the path's segments.</summary>
    public int ParameterAt { get; } = Template.Split('/', StringSplitOptions.RemoveEmptyEntries).Length - 1;
}

/// <summary>Who may ask.</summary>
internal enum RouteAccess
{
    /// <summary>Anybody, who only has to say with what (user-agent); browsers of other sites too.</summary>
    Catalogue,

    /// <summary>Who has a key; refusals are JSON.</summary>
    Key,

    /// <summary>Who has a key; what is wrong with the request is said in plain text, as Have I Been Pwned does for ranges.</summary>
    KeyWithText,

    /// <summary>Who has a key, in the header of the Enterprise API; every answer is JSON.</summary>
    Enterprise,

    /// <summary>As <see cref="Enterprise"/>, and the key must be that of a client of callbacks, even where nobody else needs one.</summary>
    Client,

    /// <summary>Anybody, browsers of other sites too; what is wrong with the request is said in plain text.</summary>
    Passwords,

    /// <summary>
    /// Who has a key, in either of two headers, and need not say with what it asks; what is wrong with the request is said in plain
    /// text.
    /// </summary>
    Append,

    /// <summary>Anybody.</summary>
    Open,
}

/// <summary>A request of a route.</summary>
/// <param name="Context">Of the server.</param>
/// <param name="Parameter">The template's parameter, decoded once; empty where there is none.</param>
/// <param name="Caller">Who asks.</param>
internal readonly record struct WebCall(HttpContext Context, string Parameter, Caller Caller)
{
    public HttpResponse Response => Context.Response;

    public CancellationToken Aborted => Context.RequestAborted;

    /// <summary>
    /// A parameter of the query, whatever the case of its name; the first where it is given several times, which some hosts
    /// join with a comma. Null: it is not given.
    /// </summary>
    public string? Query(string name) =>
        Context.Request.Query.TryGetValue(name, out var values) && values.Count > 0 ? values[0]!.Split(',')[0].Trim() : null;

    /// <summary>A parameter that is on or off.</summary>
    public bool Flag(string name, bool otherwise) => bool.TryParse(Query(name), out var value) ? value : otherwise;
}
