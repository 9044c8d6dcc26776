using System.Text;
using HibpIngest.Clients;
using Microsoft.Net.Http.Headers;

namespace HibpIngest.Web;

/// <summary>Which prefixes of hashes a client of callbacks watches. Every answer is JSON but the bitmap.</summary>
internal sealed class RangeSubscriptionEndpoints(RangeSubscriptions subscriptions, TimeProvider time) : IDisposable
{
    private const string Json = "application/json";
    private const string Bitmap = "application/octet-stream";

    private const int MostOneBytes = 4_096;

    /// <summary>Longest body of a bulk: 100,000 prefixes are some 1 MB.</summary>
    public const int MostManyBytes = 4 << 20;

    /// <summary>Bodies in memory at once: with what is made of them some 40 MB.</summary>
    private const int AtOnce = 4;

    // Some 140 kbit/s.
    private static readonly TimeSpan SendWithin = TimeSpan.FromMinutes(2);

    private static readonly ErrorAnswer BadPrefix = new(400, "Invalid hex prefix");
    private static readonly ErrorAnswer BadLength =
        new(400, $"A bitmap of {PrefixBitmap.Length} bytes is expected: one bit for each prefix of six hex digits");
    private static readonly ErrorAnswer OtherVersion = new(412, "There is another version by now: get it, and change that");

    private readonly BodyTurns _bodies = new(AtOnce, "subscribing to ranges", time);

    /// <summary>
    /// <c>POST /enterprise/range/subscribe</c>: 201 where it is new. By GET, which a known client sends by mistake, nothing.
    /// </summary>
    public async Task SubscribeAsync(WebCall call)
    {
        if (!HttpMethods.IsPost(call.Context.Request.Method))
        {
            await DoneAsync(call);
            return;
        }
        var refusal = BodyTurns.Refuse(call.Context.Request, Json, MostOneBytes);
        var prefix = 0;
        if (refusal is null)
        {
            using var body = await RequestBody.ReadAsync(call.Context, MostOneBytes, time);
            refusal = body is null ? BodyTurns.TooLong(MostOneBytes) : PrefixesDocument.ReadOne(body.Bytes, out prefix);
        }
        if (refusal is not null)
        {
            await (refusal with { AsText = false }).WriteAsync(call.Response);
            return;
        }
        if (await subscriptions.SetAsync(ClientOf(call), prefix, true, call.Aborted))
            call.Response.StatusCode = StatusCodes.Status201Created;
        await DoneAsync(call);
    }

    /// <summary><c>DELETE /enterprise/range/{prefix}</c>, whether it was watched or not.</summary>
    public async Task UnsubscribeAsync(WebCall call)
    {
        if (!PrefixBitmap.TryParse(Encoding.UTF8.GetBytes(call.Parameter), out var prefix))
        {
            await BadPrefix.WriteAsync(call.Response);
            return;
        }
        await subscriptions.SetAsync(ClientOf(call), prefix, false, call.Aborted);
        await DoneAsync(call);
    }

    /// <summary><c>/enterprise/range/subscriptions</c>: all by GET and PUT as a bitmap, many by POST.</summary>
    public async Task AllAsync(WebCall call)
    {
        var request = call.Context.Request;
        if (HttpMethods.IsPost(request.Method))
        {
            await RefuseAsync(call, BodyTurns.Refuse(request, Json, MostManyBytes)
                ?? await _bodies.RunAsync(call.Context, MostManyBytes, body => SetManyAsync(call, body)));
        }
        else if (HttpMethods.IsPut(request.Method))
        {
            await RefuseAsync(call, BodyTurns.Refuse(request, Bitmap, PrefixBitmap.Length)
                ?? await _bodies.RunAsync(call.Context, PrefixBitmap.Length, body => ReplaceAsync(call, body)));
        }
        else
        {
            await RefuseAsync(call, await _bodies.RunAsync(call.Context, () => WriteAllAsync(call)));
        }
    }

    public void Dispose() => _bodies.Dispose();

    private static Task RefuseAsync(WebCall call, ErrorAnswer? refusal) =>
        refusal is null ? Task.CompletedTask : (refusal with { AsText = false }).WriteAsync(call.Response);

    private async Task<ErrorAnswer?> SetManyAsync(WebCall call, RequestBody body)
    {
        var refusal = PrefixesDocument.Read(body.Bytes, out var document);
        body.Dispose(); // its memory is not held while the store is written
        if (refusal is not null)
            return refusal;
        var (subscribed, unsubscribed, count) = await subscriptions.SetManyAsync(
            ClientOf(call), document.Subscribed, document.Unsubscribed, call.Aborted);
        await JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteNumber("subscribed"u8, subscribed);
            writer.WriteNumber("unsubscribed"u8, unsubscribed);
            writer.WriteNumber("total"u8, count);
            writer.WriteEndObject();
        });
        return null;
    }

    private async Task<ErrorAnswer?> ReplaceAsync(WebCall call, RequestBody body)
    {
        if (body.Bytes.Length != PrefixBitmap.Length)
            return BadLength;
        var ifMatch = call.Context.Request.Headers.IfMatch.ToString();
        if (ifMatch is not ("" or "*")
            && (!Ascii.IsValid(ifMatch) || !EntityTagHeaderValue.TryParse(ifMatch, out var tag) || tag.IsWeak))
            return OtherVersion;
        var prefixes = new PrefixBitmap(body.Bytes.ToArray());
        body.Dispose();
        if (await subscriptions.ReplaceAsync(
            ClientOf(call), prefixes, ifMatch is "" or "*" ? null : ifMatch, call.Aborted) is not { } version)
            return OtherVersion;
        call.Response.Headers.ETag = version;
        await JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteNumber("total"u8, prefixes.Count);
            writer.WriteEndObject();
        });
        return null;
    }

    private async Task<ErrorAnswer?> WriteAllAsync(WebCall call)
    {
        var there = await subscriptions.ReadAsync(ClientOf(call), call.Aborted);
        call.Response.ContentType = Bitmap;
        call.Response.ContentLength = PrefixBitmap.Length;
        if (there is not null)
            call.Response.Headers.ETag = there.Version;
        if (HttpMethods.IsHead(call.Context.Request.Method))
            return null;
        // Who reads slowly has a turn that others wait for.
        using var late = new CancellationTokenSource(SendWithin, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, call.Aborted);
        try
        {
            await call.Response.Body.WriteAsync((there?.Prefixes ?? new PrefixBitmap()).Bytes, stop.Token);
        }
        catch (OperationCanceledException) when (late.IsCancellationRequested)
        {
            call.Context.Abort();
        }
        return null;
    }

    private static Task DoneAsync(WebCall call) => JsonAnswer.WriteAsync(call.Response, writer =>
    {
        writer.WriteStartObject();
        writer.WriteEndObject();
    });

    private static int ClientOf(WebCall call) => call.Caller.Key!.Client!.Value;
}
