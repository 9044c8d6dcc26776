using HibpIngest.Passwords;

namespace HibpIngest.Web;

/// <summary>Hashes that are handed in, to be added to Pwned Passwords.</summary>
internal sealed class AppendEndpoints(SubmitAppends appends, TimeProvider time) : IDisposable
{
    /// <summary>Whose what is handed in is where nobody needs a key.</summary>
    public const string OpenSubscription = "open";

    /// <summary>Longest body: 50,000 rows are some 6 MB of JSON.</summary>
    public const int MostBytes = 8 << 20;

    /// <summary>Bodies in memory at once: with what is made of them some 60 MB.</summary>
    public const int AtOnce = 4;

    private const int MostConfirmBytes = 4_096;

    private static readonly ErrorAnswer NotFound = new(404, "TransactionId not found.") { AsText = true };
    private static readonly ErrorAnswer Busy = new(409, "TransactionId is already being confirmed.") { AsText = true };
    private readonly BodyTurns _bodies = new(AtOnce, "handing passwords in", time);

    /// <summary><c>POST /ingestion/append</c> and <c>POST /append</c>.</summary>
    public async Task AppendAsync(WebCall call)
    {
        var refusal = Refuse(call, MostBytes) ?? await _bodies.RunAsync(call.Context, MostBytes, body => SubmitAsync(call, body));
        if (refusal is not null)
            await (refusal with { AsText = true }).WriteAsync(call.Response);
    }

    /// <summary><c>POST /ingestion/append/confirm</c> and <c>POST /append/confirm</c>.</summary>
    public async Task ConfirmAsync(WebCall call)
    {
        var refusal = Refuse(call, MostConfirmBytes);
        var transaction = "";
        if (refusal is null)
        {
            using var body = await RequestBody.ReadAsync(call.Context, MostConfirmBytes, time);
            refusal = body is null ? BodyTurns.TooLong(MostConfirmBytes) : ConfirmDocument.Read(body.Bytes, out transaction);
        }
        refusal ??= !Guid.TryParseExact(transaction, "D", out var id) ? NotFound
            : await appends.ConfirmAsync(SubscriptionOf(call), id, call.Aborted) switch
            {
                AppendConfirmation.NotFound => NotFound,
                AppendConfirmation.Busy => Busy,
                _ => null,
            };
        if (refusal is not null)
            await (refusal with { AsText = true }).WriteAsync(call.Response);
        else
            call.Response.ContentLength = 0;
    }

    public void Dispose() => _bodies.Dispose();

    private async Task<ErrorAnswer?> SubmitAsync(WebCall call, RequestBody body)
    {
        var refusal = AppendDocument.Read(body.Bytes, out var document);
        body.Dispose(); // its memory is not held while the stores are written
        if (refusal is not null)
            return refusal;
        var id = await appends.SubmitAsync(SubscriptionOf(call), document.Sha1, document.Ntlm, call.Aborted);
        await JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteString("transactionId"u8, id);
            writer.WriteEndObject();
        });
        return null;
    }

    private static ErrorAnswer? Refuse(WebCall call, int most) => BodyTurns.Refuse(call.Context.Request, "application/json", most);

    private static string SubscriptionOf(WebCall call) => call.Caller.Key?.Hash ?? OpenSubscription;
}
