using HibpIngest.Passwords.Appends;

namespace HibpIngest.Api.Endpoints;

internal sealed class AppendEndpoints(SubmitAppends appends, TimeProvider time) : IApiEndpoints, IDisposable
{
    /// <summary>Owner of transactions under --open, where requests have no key.</summary>
    public const string OpenOwner = "open";

    /// <summary>Maximum size of a body. 50,000 rows are about 6 MB of JSON.</summary>
    public const int MaxBytes = 8 << 20;

    /// <summary>Maximum number of bodies in memory; with their parsed rows about 60 MB in total.</summary>
    public const int MaxConcurrency = 4;

    private const int MaxConfirmBytes = 4_096;

    private static readonly ErrorResponse NotFound = new(404, "TransactionId not found.");
    private static readonly ErrorResponse Busy = new(409, "TransactionId is already being confirmed.");
    private readonly BodyLimiter _bodies = new(MaxConcurrency, "submitting passwords", time);

    public void Map(ApiRoutes routes)
    {
        foreach (var root in (string[])["/ingestion", ""])
        {
            routes.Map(HttpMethods.Post, $"{root}/append", RouteAccess.Append, AppendAsync)
                .Requires(KeyScopes.Append).WithName(root.Length > 0 ? "append" : "appendatroot")
                .WithMetadata(new RequestBodyMetadata(typeof(IReadOnlyList<AppendItem>)))
                .Describe(
                    "Submits password hashes; they are added after the transaction is confirmed", typeof(TransactionDocument),
                    400, 413, 415);
            routes.Map(HttpMethods.Post, $"{root}/append/confirm", RouteAccess.Append, ConfirmAsync)
                .Requires(KeyScopes.Append).WithName(root.Length > 0 ? "confirm" : "confirmatroot")
                .WithMetadata(new RequestBodyMetadata(typeof(TransactionDocument)))
                .Describe("Confirms a transaction, so that its hashes are added", null, 400, 404, 409, 413, 415);
        }
    }

    public void Dispose() => _bodies.Dispose();

    private async Task<IResult> AppendAsync(HttpContext context) => BodyLimiter.Refuse(context.Request, "application/json", MaxBytes)
        ?? await _bodies.RunAsync(context, MaxBytes, body => SubmitAsync(context, body));

    private async Task<IResult> ConfirmAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var transaction = "";
        var refusal = await BodyLimiter.ReadShortAsync(context, MaxConfirmBytes, time, json => ConfirmDocument.Read(json, out transaction));
        if (refusal is not null)
            return refusal;
        if (!Guid.TryParseExact(transaction, "D", out var id))
            return NotFound;
        switch (await appends.ConfirmAsync(OwnerOf(context), id, cancellationToken))
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
        // Release the memory before the stores are written.
        body.Dispose();
        if (refusal is not null)
            return refusal;
        var id = await appends.SubmitAsync(OwnerOf(context), document.Sha1, document.Ntlm, context.RequestAborted);
        return JsonResponse.Of(new TransactionDocument(id), ApiJson.Documents.TransactionDocument);
    }

    private static string OwnerOf(HttpContext context) => Caller.Of(context).Key?.Hash ?? OpenOwner;
}
