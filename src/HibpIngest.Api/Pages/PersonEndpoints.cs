using HibpIngest.Api.Endpoints;
using HibpIngest.People;
using Microsoft.AspNetCore.Components;

namespace HibpIngest.Api.Pages;

/// <summary>A GET changes nothing, since mail scanners follow links.</summary>
internal sealed class PersonEndpoints(PageRenderer pages, CommandSender commands, TimeProvider time) : IApiEndpoints
{
    public const string TokenName = "t";

    private static readonly ErrorResponse BadJson = new(
        400, "The body must be JSON with an email address, as in {\"email\":\"you@example.com\"}; to opt out also \"from\": public or all");

    public void Map(ApiRoutes routes)
    {
        routes.Get("/subscribe", RouteAccess.Page, (HttpContext context) => WriteAsync<SubscribePage>(context)).AsPage("subscribe");
        MapForm(routes, "subscribe", (context, cancellationToken) => RequestAsync<SubscribePage>(
            context, fields => (CommandKind.Subscribe, OptOutLevel.None), "SubscribeDone", cancellationToken));
        routes.Get("/optout", RouteAccess.Page, (HttpContext context) => WriteAsync<OptOutPage>(context)).AsPage("optout");
        MapForm(routes, "optout", (context, cancellationToken) => RequestAsync<OptOutPage>(
            context, fields => LevelOf(fields.From) is { } level ? (CommandKind.RequestOptOut, level) : null, "OptOutSent",
            cancellationToken));
        Map(routes, "verify", "Verify", new Link(LinkPurpose.Verify, CommandKind.Verify));
        Map(routes, "unsubscribe", "Unsubscribe", new Link(LinkPurpose.Unsubscribe, CommandKind.Unsubscribe));
        Map(
            routes, "optout/confirm", "OptOut", new Link(LinkPurpose.OptOutPublic, CommandKind.OptOut, OptOutLevel.Public),
            new Link(LinkPurpose.OptOutAll, CommandKind.OptOut, OptOutLevel.All));
        Map(routes, "domains/confirm", "Domain", new Link(LinkPurpose.Domain, CommandKind.ConfirmDomain));
    }

    /// <summary>Maps the page of a link, whose button posts to the same address. A mail program posts there too (RFC 8058).</summary>
    private void Map(ApiRoutes routes, string path, string notice, params Link[] links)
    {
        routes.Get($"/{path}", RouteAccess.Page, (HttpContext context) => AskAsync(context, $"/{path}", notice, links)).AsPage(path);
        routes.Map(
            HttpMethods.Post, $"/{path}", RouteAccess.Form,
            (HttpContext context, CancellationToken cancellationToken) => ConfirmAsync(context, notice, links, cancellationToken))
            .AsPage($"{path} form");
    }

    private static void MapForm(ApiRoutes routes, string path, Func<HttpContext, CancellationToken, Task> answer) => routes
        .Map(HttpMethods.Post, $"/{path}", RouteAccess.Form, answer).AsPage($"{path} form").RequireRateLimiting(NetworkLimits.Subscribe);

    private async Task RequestAsync<TPage>(
        HttpContext context, Func<PersonDocument, (CommandKind, OptOutLevel)?> wantedBy, string done, CancellationToken cancellationToken)
        where TPage : IComponent
    {
        var isJson = context.Request.HasJsonContentType();
        using var body = await RequestBody.ReadAsync(context, PageForm.MaxBodyBytes, time);
        var fields = body is null ? null : isJson ? OfJson(body.Bytes) : OfForm(body.Bytes);
        if (PageForm.AddressOf(fields?.Email) is not { } email || wantedBy(fields!) is not var (kind, level))
        {
            await (isJson ? BadJson.ExecuteAsync(context) : WriteAsync<TPage>(context, isRefused: true));
            return;
        }
        await commands.SendAsync(context, new PersonCommand(kind) { Email = email, Level = level }, cancellationToken);
        await (isJson
            ? JsonResponse.Of(new MessageDocument(PageText.Get("Notice.Sent")), ApiJson.Documents.MessageDocument).ExecuteAsync(context)
            : WriteAsync(context, new Notice(done)));
    }

    private Task AskAsync(HttpContext context, string path, string notice, Link[] links) => Find(context, links) is var (link, token)
        ? WriteAsync(context, new Notice(notice + Suffix(link), $"{path}?{TokenName}={token}")) : WriteAsync(context, Notice.BadLink);

    private async Task ConfirmAsync(HttpContext context, string notice, Link[] links, CancellationToken cancellationToken)
    {
        if (Find(context, links) is not var (link, token))
        {
            await WriteAsync(context, Notice.BadLink);
            return;
        }
        await commands.SendAsync(context, new PersonCommand(link.Kind) { Token = token, Level = link.Level }, cancellationToken);
        await WriteAsync(context, new Notice($"{notice}Done"));
    }

    private static string Suffix(Link link) => link.Level == OptOutLevel.None ? "" : link.Level.ToString();

    private Task WriteAsync<TPage>(HttpContext context, bool isRefused = false)
        where TPage : IComponent =>
        pages.WriteAsync<TPage>(context, new Dictionary<string, object?> { ["IsRefused"] = isRefused }, isRefused ? 400 : 200);

    private Task WriteAsync(HttpContext context, Notice notice) => NoticePage.WriteAsync(context, pages, notice);

    /// <returns>Null if the link has another purpose, has expired, or nobody here has signed it.</returns>
    private (Link Link, string Token)? Find(HttpContext context, Link[] links)
    {
        if (context.Request.Query[TokenName] is not [{ } token])
            return null;
        var link = Array.Find(links, one => commands.Links.Read(token, one.Purpose, time.GetUtcNow()) is not null);
        return link is null ? null : (link, token);
    }

    private static OptOutLevel? LevelOf(string? text) => text switch
    {
        "public" => OptOutLevel.Public,
        "all" => OptOutLevel.All,
        _ => null,
    };

    private static PersonDocument OfForm(ReadOnlySpan<byte> form)
    {
        var fields = PageForm.Parse(form);
        return new PersonDocument(fields.GetValueOrDefault("email"), fields.GetValueOrDefault("from"));
    }

    private static PersonDocument? OfJson(ReadOnlySpan<byte> json)
    {
        try
        {
            return JsonSerializer.Deserialize(json, ApiJson.Documents.PersonDocument);
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private sealed record Link(LinkPurpose Purpose, CommandKind Kind, OptOutLevel Level = OptOutLevel.None);
}

/// <summary>A page that says one thing, and may ask for a click.</summary>
/// <param name="Name">Name of the page's texts: <c>Notice.NAME.Title</c>, Text and, with an action, Button.</param>
/// <param name="Action">Address that the page's button posts to; null if there is no button.</param>
/// <param name="Status">Status code of the response.</param>
public sealed record Notice(string Name, string? Action = null, int Status = StatusCodes.Status200OK)
{
    internal static readonly Notice BadLink = new("BadLink", Status: StatusCodes.Status400BadRequest);
    internal static readonly Notice BadSignIn = new("BadSignIn", Status: StatusCodes.Status400BadRequest);
    internal static readonly Notice Unavailable = new("Unavailable", Status: StatusCodes.Status503ServiceUnavailable);
    internal static readonly Notice TooMany = new("TooMany", Status: StatusCodes.Status429TooManyRequests);
}
