using System.Text;
using System.Text.Json;
using HibpIngest.Api.Endpoints;
using HibpIngest.Messages;
using HibpIngest.People;
using Microsoft.AspNetCore.WebUtilities;

namespace HibpIngest.Api.Pages;

/// <summary>
/// Pages on which people subscribe, verify and unsubscribe. The web app knows no subscriber: it seals what a person wants, and queues it.
/// So every caller gets the same response in the same time. A GET changes nothing, since mail scanners follow links.
/// </summary>
internal sealed class PersonEndpoints : IApiEndpoints
{
    /// <summary>Name of the query parameter that holds a link's token.</summary>
    private const string TokenName = "t";

    private const int MaxBodyBytes = 4_096;

    private readonly PageRenderer _pages;
    private readonly IMessageQueues _queues;
    private readonly TimeProvider _time;
    private readonly WebOptions _web;
    private readonly LinkTokens _links;
    private readonly CommandSealer _sealer;

    public PersonEndpoints(PageRenderer pages, IMessageQueues queues, ApiOptions options, TimeProvider time)
    {
        (_pages, _queues, _web, _time) = (pages, queues, options.Web, time);
        _links = LinkTokens.Parse(_web.LinkKeys)!;
        _sealer = CommandSealer.Parse(_web.CommandPublicKey!);
    }

    public void Map(ApiRoutes routes)
    {
        Map(routes.Get("/subscribe", RouteAccess.Page, (HttpContext context) => SubscribePageAsync(context)), "subscribe");
        Map(routes.Map(HttpMethods.Post, "/subscribe", RouteAccess.Form, SubscribeAsync), "subscribe form")
            .RequireRateLimiting(NetworkLimits.Subscribe);
        Map(routes, "verify", LinkPurpose.Verify, CommandKind.Verify);
        Map(routes, "unsubscribe", LinkPurpose.Unsubscribe, CommandKind.Unsubscribe);
    }

    /// <summary>Maps the page of a link, whose button posts to the same address. A mail program posts there too (RFC 8058).</summary>
    private void Map(ApiRoutes routes, string name, LinkPurpose purpose, CommandKind kind)
    {
        var notice = new Notice(kind.ToString(), $"/{name}");
        Map(routes.Get($"/{name}", RouteAccess.Page, (HttpContext context) => AskAsync(context, purpose, notice)), name);
        Map(routes.Map(HttpMethods.Post, $"/{name}", RouteAccess.Form, (HttpContext context, CancellationToken cancellationToken) =>
            ConfirmAsync(context, purpose, notice, kind, cancellationToken)), $"{name} form");
    }

    // The OpenAPI document lists what programs use.
    private static RouteHandlerBuilder Map(RouteHandlerBuilder endpoint, string name) =>
        endpoint.WithName($"page {name}").ExcludeFromDescription();

    private Task SubscribePageAsync(HttpContext context, bool isRefused = false) => _pages.WriteAsync<SubscribePage>(
        context, new Dictionary<string, object?> { [nameof(SubscribePage.IsRefused)] = isRefused }, isRefused ? 400 : 200);

    private async Task SubscribeAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var isJson = context.Request.HasJsonContentType();
        using var body = await RequestBody.ReadAsync(context, MaxBodyBytes, _time);
        var email = body is null ? null : (isJson ? EmailOfJson(body.Bytes) : EmailOfForm(body.Bytes))?.Trim().ToLowerInvariant();
        if (email is null || !AccountRules.TryParse(email, out _, out _, out _) || !MailSyntax.IsAddress(email))
        {
            await (isJson ? new ErrorResponse(400, "The body must be JSON with an email address, as in {\"email\":\"you@example.com\"}")
                .ExecuteAsync(context) : SubscribePageAsync(context, isRefused: true));
            return;
        }
        var network = CallerAddress.NetworkOf(CallerAddress.Of(context, _web.Proxies));
        var isQueued = await TrySendAsync(
            new PersonCommand(Guid.NewGuid(), _time.GetUtcNow(), CommandKind.Subscribe, email, network), cancellationToken);
        if (!isJson)
            await WriteAsync(context, isQueued ? new Notice("SubscribeDone") : Notice.Unavailable);
        else if (isQueued)
        {
            await JsonResponse.Of(new MessageDocument(PageText.Get("Notice.SubscribeDone.Text")), ApiJson.Documents.MessageDocument)
                .ExecuteAsync(context);
        }
        else
            await ErrorResponse.Unavailable.ExecuteAsync(context);
    }

    private Task AskAsync(HttpContext context, LinkPurpose purpose, Notice notice) => TokenOf(context, purpose) is { } token
        ? WriteAsync(context, notice with { Action = $"{notice.Action}?{TokenName}={token}" }) : WriteAsync(context, Notice.BadLink);

    private async Task ConfirmAsync(
        HttpContext context, LinkPurpose purpose, Notice notice, CommandKind kind, CancellationToken cancellationToken)
    {
        if (TokenOf(context, purpose) is not { } token)
            await WriteAsync(context, Notice.BadLink);
        else if (await TrySendAsync(new PersonCommand(Guid.NewGuid(), _time.GetUtcNow(), kind, Token: token), cancellationToken))
            await WriteAsync(context, new Notice($"{notice.Name}Done"));
        else
            await WriteAsync(context, Notice.Unavailable);
    }

    private Task WriteAsync(HttpContext context, Notice notice) => NoticePage.WriteAsync(context, _pages, notice);

    /// <returns>Null: the link has another purpose, has expired, or nobody here has signed it.</returns>
    private string? TokenOf(HttpContext context, LinkPurpose purpose) =>
        context.Request.Query[TokenName] is [{ } token] && _links.Read(token, purpose, _time.GetUtcNow()) is not null ? token : null;

    private async Task<bool> TrySendAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        try
        {
            await _queues.SendAsync(CommandMessage.Of(command, _sealer), TimeSpan.Zero, cancellationToken);
            return true;
        }
        catch (HibpException)
        {
            return false; // reported by /readyz
        }
    }

    private static string? EmailOfForm(ReadOnlySpan<byte> form) =>
        QueryHelpers.ParseQuery(Encoding.UTF8.GetString(form)).GetValueOrDefault("email").FirstOrDefault();

    private static string? EmailOfJson(ReadOnlySpan<byte> json)
    {
        try
        {
            return JsonSerializer.Deserialize(json, ApiJson.Documents.SubscribeDocument)?.Email;
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

/// <summary>A page that says one thing, and may ask for a click.</summary>
/// <param name="Name">Of its texts: <c>Notice.NAME.Title</c>, Text and, with an action, Button.</param>
/// <param name="Action">Where its button posts to; null: there is none.</param>
/// <param name="Status">Of the response.</param>
public sealed record Notice(string Name, string? Action = null, int Status = StatusCodes.Status200OK)
{
    internal static readonly Notice BadLink = new("BadLink", Status: StatusCodes.Status400BadRequest);
    internal static readonly Notice Unavailable = new("Unavailable", Status: StatusCodes.Status503ServiceUnavailable);
    internal static readonly Notice TooMany = new("TooMany", Status: StatusCodes.Status429TooManyRequests);
}
