using System.Xml;
using HibpIngest.Api.Endpoints;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Api.Pages;

internal sealed class PageEndpoints(
    PageRenderer pages, PageTickets tickets, CatalogueReader catalogue, LayoutReads layouts, IPasswordRanges passwords, ApiOptions options)
    : IApiEndpoints
{
    private const int FeedEntries = 50;

    public void Map(ApiRoutes routes)
    {
        Map(routes, "/", "search", SearchAsync);
        Map(routes, "/breaches", "breaches", BreachesAsync);
        Map(routes, "/breach/{name}", "breach", BreachAsync);
        Map(routes, "/privacy", "privacy", (HttpContext context) => pages.WriteAsync<PrivacyPage>(context, []));
        Map(routes, "/breaches.atom", "feed", FeedAsync);
        Map(routes, "/robots.txt", "robots", Robots);
        Map(routes, "/assets/{file}", "asset", (HttpContext context) => PageAssets.WriteAsync(context, ApiRoute.ParameterOf(context)));
    }

    private static void Map(ApiRoutes routes, string template, string name, Delegate handler) =>
        routes.Get(template, RouteAccess.Page, handler).AsPage(name);

    private async Task SearchAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var searches = new SearchForms(
            tickets.Create(CallerAddress.NetworkOf(CallerAddress.Of(context, options.Web.Proxies))),
            await CanServeAsync(async () => await layouts.HasRangesAsync(cancellationToken)),
            await CanServeAsync(async () => await passwords.FindAsync(HashMode.Sha1, 0, cancellationToken) is not null));
        var snapshot = await catalogue.GetAsync(cancellationToken);
        await pages.WriteAsync<SearchPage>(context, new()
        {
            [nameof(SearchPage.Forms)] = searches,
            [nameof(SearchPage.Breaches)] = snapshot.ByTitle.Count,
            [nameof(SearchPage.Accounts)] = snapshot.ByTitle.Sum(breach => breach.Model.PwnCount),
            [nameof(SearchPage.Latest)] = snapshot.ByTitle.Select(breach => breach.Model)
                .OrderByDescending(breach => breach.AddedDate).ThenBy(breach => breach.Name, StringComparer.Ordinal).Take(3).ToList(),
        });
    }

    private async Task BreachesAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var all = (await catalogue.GetAsync(cancellationToken)).ByTitle.Select(breach => breach.Model).ToList();
        await pages.WriteAsync<BreachesPage>(context, new() { [nameof(BreachesPage.List)] = BreachList.Of(all, context.Request.Query) });
    }

    private async Task BreachAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if ((await catalogue.GetAsync(cancellationToken)).Find(ApiRoute.ParameterOf(context)) is { } breach)
            await pages.WriteAsync<BreachPage>(context, new() { [nameof(BreachPage.Breach)] = breach.Model });
        else
            await pages.WriteAsync<NotFoundPage>(context, [], StatusCodes.Status404NotFound);
    }

    /// <summary>Writes the breaches that were added last as an Atom feed (RFC 4287).</summary>
    private async Task FeedAsync(HttpContext context, CancellationToken cancellationToken)
    {
        const string Atom = "http://www.w3.org/2005/Atom";
        var newest = (await catalogue.GetAsync(cancellationToken)).ByTitle.Select(breach => breach.Model)
            .OrderByDescending(breach => breach.AddedDate).ThenBy(breach => breach.Name, StringComparer.Ordinal).Take(FeedEntries).ToList();
        using var bytes = new MemoryStream();
        using (var writer = XmlWriter.Create(bytes, new XmlWriterSettings { Encoding = new UTF8Encoding(false), CheckCharacters = false }))
        {
            writer.WriteStartElement("feed", Atom);
            writer.WriteElementString("id", Atom, $"{options.Address}/breaches.atom");
            writer.WriteElementString("title", Atom, PageText.Get("Feed.Title"));
            writer.WriteElementString("updated", Atom, Time(newest.Select(breach => breach.ModifiedDate).DefaultIfEmpty().Max()));
            Link("self", $"{options.Address}/breaches.atom");
            Link("alternate", $"{options.Address}/breaches");
            foreach (var breach in newest)
            {
                var address = $"{options.Address}/breach/{Uri.EscapeDataString(breach.Name)}";
                writer.WriteStartElement("entry", Atom);
                writer.WriteElementString("id", Atom, address);
                writer.WriteElementString("title", Atom, Plain(breach.Title));
                writer.WriteElementString("published", Atom, Time(breach.AddedDate));
                writer.WriteElementString("updated", Atom, Time(breach.ModifiedDate));
                writer.WriteStartElement("author", Atom);
                writer.WriteElementString("name", Atom, SiteName);
                writer.WriteEndElement();
                Link("alternate", address);
                writer.WriteStartElement("content", Atom);
                writer.WriteAttributeString("type", "html");
                writer.WriteString(Plain(breach.Description));
                writer.WriteEndElement();
                writer.WriteEndElement();
            }
            writer.WriteEndElement();

            void Link(string relation, string address)
            {
                writer.WriteStartElement("link", Atom);
                writer.WriteAttributeString("rel", relation);
                writer.WriteAttributeString("href", address);
                writer.WriteEndElement();
            }
        }
        await new ReadyResponse(ReadyContent.Of(bytes.ToArray()), "application/atom+xml; charset=utf-8").ExecuteAsync(context);

        static string Time(DateTimeOffset time) => time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture);

        // XML 1.0 forbids most control characters, even escaped.
        static string Plain(string text) => string.Concat(text.Where(XmlConvert.IsXmlChar));
    }

    // Search results, domain pages and API responses must not be indexed.
    private static IResult Robots() => Results.Text("User-agent: *\nDisallow: /search/\nDisallow: /domains/\nDisallow: /api/\n");

    private string SiteName => options.Web.ServiceName ?? PageText.Get("Site.Name");

    /// <summary>Returns whether a search can be served. If its store is unavailable, the page is shown without that form.</summary>
    private static async Task<bool> CanServeAsync(Func<Task<bool>> serves)
    {
        try
        {
            return await serves();
        }
        catch (HibpException)
        {
            return false;
        }
    }
}

/// <summary>The forms of the search page.</summary>
/// <param name="Ticket">Ticket that the page's script sends with each search.</param>
/// <param name="SearchesEmail">True if people can search by address: the ranges of hashes are complete and readable.</param>
/// <param name="SearchesPasswords">True if people can search by password: a release is served.</param>
public sealed record SearchForms(string Ticket, bool SearchesEmail, bool SearchesPasswords);
