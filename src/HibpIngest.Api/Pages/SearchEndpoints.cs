using HibpIngest.Api.Endpoints;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Api.Pages;

/// <summary>
/// Serves the search page's script. Not the public API: it responds to this server's own pages only. Searches require a ticket, and their
/// responses are padded, so that their length says little about the range.
/// </summary>
internal sealed class SearchEndpoints(
    BreachedRanges ranges, IPasswordRanges passwords, SearchCatalogue catalogue, PageTickets tickets, ApiOptions options) : IApiEndpoints
{
    public const string TicketHeader = "x-page-ticket";

    public const int PaddedTo = 4_096;

    private static readonly ErrorResponse NotAPage = new(403, "Only a page of this server searches here; programs use the API");
    private static readonly ErrorResponse NoTicket = new(403, "The ticket of this page has expired or is used up: reload the page");
    private static readonly ErrorResponse BadPrefix = new(400, "Invalid hex prefix");
    private static readonly ErrorResponse NotServed = new(404, "Passwords are not served here");

    public void Map(ApiRoutes routes)
    {
        Map(routes, "/search/range/{prefix}", "range", RangeAsync);
        Map(routes, "/search/password/{prefix}", "password", PasswordAsync);
        Map(routes, "/search/catalogue.json", "catalogue", CatalogueAsync);
    }

    private static void Map(ApiRoutes routes, string template, string name, Delegate answer) =>
        routes.Get(template, RouteAccess.Search, answer).WithName($"search {name}").RequireRateLimiting(NetworkLimits.Search)
            .ExcludeFromDescription();

    private async Task<IResult> RangeAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (Refuse(context, BreachedRanges.PrefixDigits, out var prefix) is { } refusal)
            return refusal;
        var found = await ranges.FindAsync(prefix, cancellationToken);
        var text = new StringBuilder();
        foreach (var (suffix, breaches) in found)
            text.Append(suffix).Append(':').AppendJoin(',', breaches.Select(breach => breach.Model.Name)).Append('\n');
        return new PaddedText(Encoding.UTF8.GetBytes(text.ToString()));
    }

    private async Task<IResult> PasswordAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (Refuse(context, HashModes.PrefixDigits, out var prefix) is { } refusal)
            return refusal;
        var number = int.Parse(prefix, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
        return await passwords.FindAsync(HashMode.Sha1, number, cancellationToken) is { } range
            ? new PaddedText(range.For(acceptsGzip: false).Bytes) : NotServed;
    }

    private async Task<IResult> CatalogueAsync(HttpContext context, CancellationToken cancellationToken) => IsOwnPage(context)
        ? new ReadyResponse(await catalogue.GetAsync(cancellationToken), JsonResponse.ContentType, "no-cache") : NotAPage;

    private ErrorResponse? Refuse(HttpContext context, int digits, out string prefix)
    {
        prefix = ApiRoute.ParameterOf(context).ToUpperInvariant();
        if (!IsOwnPage(context))
            return NotAPage;
        if (prefix.Length != digits || !prefix.All(char.IsAsciiHexDigit))
            return BadPrefix;
        var network = CallerAddress.NetworkOf(CallerAddress.Of(context, options.Web.Proxies));
        return tickets.TryUse(context.Request.Headers[TicketHeader].FirstOrDefault(), network) ? null : NoTicket;
    }

    // Browsers set the header, and scripts can't (fetch.spec.whatwg.org/#forbidden-request-header).
    private static bool IsOwnPage(HttpContext context) => context.Request.Headers["Sec-Fetch-Site"] == "same-origin";

    private sealed class PaddedText(ReadOnlyMemory<byte> text) : IResult
    {
        public async Task ExecuteAsync(HttpContext httpContext)
        {
            var padded = new byte[((text.Length / PaddedTo) + 1) * PaddedTo];
            text.CopyTo(padded);
            padded.AsSpan(text.Length).Fill((byte)'\n');
            var response = httpContext.Response;
            (response.ContentType, response.ContentLength) = ("text/plain; charset=utf-8", padded.Length);
            await response.Body.WriteAsync(padded, httpContext.RequestAborted);
        }
    }
}
