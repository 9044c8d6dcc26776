using HibpIngest.Passwords;
using HibpIngest.Passwords.Appends;

namespace HibpIngest.Api.Endpoints;

internal sealed class AppendEndpoints(SubmitAppends appends, TimeProvider time) : IApiEndpoints, IDisposable
{
    public const string OpenSubscription = "open";

    /// <summary>Maximum body: 50,000 rows are some 6 MB of JSON.</summary>
    public const int MaxBytes = 8 << 20;

    /// <summary>Maximum bodies in memory at once: with the parsed data some 60 MB.</summary>
    public const int MaxConcurrency = 4;

    private const int MaxConfirmBytes = 4_096;

    private static readonly ErrorResponse NotFound = new(404, "TransactionId not found.");
    private static readonly ErrorResponse Busy = new(409, "TransactionId is already being confirmed.");
    private readonly BodyTurns _bodies = new(MaxConcurrency, "submitting passwords", time);

    public void Map(ApiRoutes routes)
    {
        foreach (var root in (string[])["/ingestion", ""])
        {
            routes.Map(HttpMethods.Post, $"{root}/append", RouteAccess.Append, AppendAsync)
                .Requires(KeyScopes.Append).WithName(root.Length > 0 ? "append" : "appendatroot")
                .WithMetadata(new RequestBodyMetadata(typeof(IReadOnlyList<AppendItem>)))
                .Describe("Takes hashes, to be added to the passwords once confirmed", typeof(TransactionDocument), 400, 413, 415);
            routes.Map(HttpMethods.Post, $"{root}/append/confirm", RouteAccess.Append, ConfirmAsync)
                .Requires(KeyScopes.Append).WithName(root.Length > 0 ? "confirm" : "confirmatroot")
                .WithMetadata(new RequestBodyMetadata(typeof(TransactionDocument)))
                .Describe("Confirms a transaction, whose hashes are then added", null, 400, 404, 409, 413, 415);
        }
    }

    public void Dispose() => _bodies.Dispose();

    private async Task<IResult> AppendAsync(HttpContext context) => BodyTurns.Refuse(context.Request, "application/json", MaxBytes)
        ?? await _bodies.RunAsync(context, MaxBytes, body => SubmitAsync(context, body));

    private async Task<IResult> ConfirmAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var transaction = "";
        var refusal = await BodyTurns.ReadShortAsync(context, MaxConfirmBytes, time, json => ConfirmDocument.Read(json, out transaction));
        if (refusal is not null)
            return refusal;
        if (!Guid.TryParseExact(transaction, "D", out var id))
            return NotFound;
        switch (await appends.ConfirmAsync(SubscriptionOf(context), id, cancellationToken))
        {
            case AppendConfirmation.NotFound:
                return NotFound;
            case AppendConfirmation.Busy:
                return Busy;
            default:
                context.Response.ContentLength = 0;
                return Results.Empty;
        }
    }

    private async Task<IResult> SubmitAsync(HttpContext context, RequestBody body)
    {
        var refusal = AppendDocument.Read(body.Bytes, out var document);
        body.Dispose(); // its memory is not held while the stores are written
        if (refusal is not null)
            return refusal;
        var id = await appends.SubmitAsync(SubscriptionOf(context), document.Sha1, document.Ntlm, context.RequestAborted);
        return JsonResponse.Of(new TransactionDocument(id), ApiJson.Documents.TransactionDocument);
    }

    private static string SubscriptionOf(HttpContext context) => Caller.Of(context).Key?.Hash ?? OpenSubscription;
}
