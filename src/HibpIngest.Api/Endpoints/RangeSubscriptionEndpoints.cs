using HibpIngest.Api.Subscriptions;
using Microsoft.Net.Http.Headers;

namespace HibpIngest.Api.Endpoints;

internal sealed class RangeSubscriptionEndpoints(RangeSubscriptions subscriptions, TimeProvider time) : IApiEndpoints, IDisposable
{
    private const string Json = "application/json";
    private const string Bitmap = "application/octet-stream";

    private const int MaxOneBytes = 4_096;

    /// <summary>Maximum body of a bulk request: 100,000 prefixes are some 1 MB.</summary>
    public const int MaxManyBytes = 4 << 20;

    /// <summary>Maximum bodies in memory at once: with the parsed data some 40 MB.</summary>
    private const int MaxConcurrency = 4;

    // About 140 kbit/s.
    private static readonly TimeSpan SendWithin = TimeSpan.FromMinutes(2);

    private static readonly ErrorResponse BadPrefix = new(400, "Invalid hex prefix");
    private static readonly ErrorResponse BadLength =
        new(400, $"A bitmap of {PrefixBitmap.Length} bytes is expected: one bit for each prefix of six hex digits");
    private static readonly ErrorResponse OtherVersion = new(412, "There is another version by now: get it, and change that");

    private static readonly JsonResponse Done = JsonResponse.Of(new EmptyDocument(), ApiJson.Documents.EmptyDocument);

    private readonly BodyLimiter _bodies = new(MaxConcurrency, "subscribing to ranges", time);

    public void Map(ApiRoutes routes)
    {
        Map(HttpMethods.Post, "subscribe", SubscribeAsync)
            .WithMetadata(new RequestBodyMetadata(typeof(PrefixDocument)), new ProducesResponseTypeMetadata(201))
            .Describe("Subscribes the client to a prefix; 201 if it was not subscribed before", null, 400, 413, 415);
        // A known client sends this by mistake: it changes nothing.
        Map(HttpMethods.Get, "subscribe", () => Done).WithName("subscribed").Describe("Changes nothing", null);
        Map(HttpMethods.Delete, "{prefix}", UnsubscribeAsync).WithName("unsubscribe")
            .Describe("Ends the client's subscription to a prefix", null, 400);
        Map(HttpMethods.Get, "subscriptions", (HttpContext context) => _bodies.RunAsync(context, () => WriteAllAsync(context)))
            .Describe("All prefixes that the client is subscribed to, as a bitmap", typeof(Stream));
        Map(HttpMethods.Post, "subscriptions", async (HttpContext context) => BodyLimiter.Refuse(context.Request, Json, MaxManyBytes)
            ?? await _bodies.RunAsync(context, MaxManyBytes, body => SetManyAsync(context, body)))
            .WithName("changesubscriptions").WithMetadata(new RequestBodyMetadata(typeof(PrefixLists)))
            .Describe("Changes up to 100,000 of the client's subscriptions at once", typeof(PrefixCounts), 400, 413, 415);
        Map(HttpMethods.Put, "subscriptions", async (HttpContext context) =>
            BodyLimiter.Refuse(context.Request, Bitmap, PrefixBitmap.Length)
            ?? await _bodies.RunAsync(context, PrefixBitmap.Length, body => ReplaceAsync(context, body)))
            .WithName("replacesubscriptions").WithMetadata(new RequestBodyMetadata(typeof(Stream), Bitmap))
            .Describe("Replaces all of the client's subscriptions", typeof(PrefixCount), 400, 412, 413, 415);

        RouteHandlerBuilder Map(string method, string path, Delegate answer) =>
            routes.Map(method, $"/enterprise/range/{path}", RouteAccess.Client, answer).Requires(KeyScopes.Range)
                .RequireAuthorization(KeyPolicies.Client);
    }

    public void Dispose() => _bodies.Dispose();

    private async Task<IResult> SubscribeAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var prefix = 0;
        if (await BodyLimiter.ReadShortAsync(context, MaxOneBytes, time, json => PrefixesDocument.ReadOne(json, out prefix)) is { } refusal)
            return refusal;
        if (await subscriptions.SetAsync(ClientOf(context), prefix, true, cancellationToken))
            context.Response.StatusCode = StatusCodes.Status201Created;
        return Done;
    }

    private async Task<IResult> UnsubscribeAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (!PrefixBitmap.TryParse(Encoding.UTF8.GetBytes(ApiRoute.ParameterOf(context)), out var prefix))
            return BadPrefix;
        await subscriptions.SetAsync(ClientOf(context), prefix, false, cancellationToken);
        return Done;
    }

    private async Task<IResult> SetManyAsync(HttpContext context, RequestBody body)
    {
        var refusal = PrefixesDocument.Read(body.Bytes, out var document);
        body.Dispose(); // its memory is not held while the store is written
        if (refusal is not null)
            return refusal;
        var (subscribed, unsubscribed, count) = await subscriptions.SetManyAsync(
            ClientOf(context), document.Subscribed, document.Unsubscribed, context.RequestAborted);
        return JsonResponse.Of(new PrefixCounts(subscribed, unsubscribed, count), ApiJson.Documents.PrefixCounts);
    }

    private async Task<IResult> ReplaceAsync(HttpContext context, RequestBody body)
    {
        if (body.Bytes.Length != PrefixBitmap.Length)
            return BadLength;
        var ifMatch = context.Request.Headers.IfMatch.ToString();
        if (ifMatch is not ("" or "*")
            && (!Ascii.IsValid(ifMatch) || !EntityTagHeaderValue.TryParse(ifMatch, out var tag) || tag.IsWeak))
            return OtherVersion;
        var prefixes = new PrefixBitmap(body.Bytes.ToArray());
        body.Dispose();
        if (await subscriptions.ReplaceAsync(
            ClientOf(context), prefixes, ifMatch is "" or "*" ? null : ifMatch, context.RequestAborted) is not { } version)
            return OtherVersion;
        context.Response.Headers.ETag = version;
        return JsonResponse.Of(new PrefixCount(prefixes.Count), ApiJson.Documents.PrefixCount);
    }

    private async Task<IResult> WriteAllAsync(HttpContext context)
    {
        var there = await subscriptions.ReadAsync(ClientOf(context), context.RequestAborted);
        context.Response.ContentType = Bitmap;
        context.Response.ContentLength = PrefixBitmap.Length;
        if (there is not null)
            context.Response.Headers.ETag = there.Version;
        if (HttpMethods.IsHead(context.Request.Method))
            return Results.Empty;
        // A slow reader occupies a slot that other requests wait for.
        using var late = new CancellationTokenSource(SendWithin, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, context.RequestAborted);
        try
        {
            await context.Response.Body.WriteAsync((there?.Prefixes ?? new PrefixBitmap()).Bytes, stop.Token);
        }
        catch (OperationCanceledException) when (late.IsCancellationRequested)
        {
            context.Abort();
        }
        return Results.Empty;
    }

    private static int ClientOf(HttpContext context) => Caller.Of(context).Key!.Client!.Value;
}
