using System.Globalization;
using HibpIngest.Passwords;
using Microsoft.Net.Http.Headers;

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

    /// <summary>How long one waits for the others.</summary>
    public static readonly TimeSpan WaitAtMost = TimeSpan.FromSeconds(5);

    private static readonly ErrorAnswer NoJson = new(400, "Content-Type must be application/json") { AsText = true };
    private static readonly ErrorAnswer Encoded =
        new(415, "The body is expected as it is: no Content-Encoding is taken") { AsText = true };
    private static readonly ErrorAnswer NotFound = new(404, "TransactionId not found.") { AsText = true };
    private static readonly ErrorAnswer Busy = new(409, "TransactionId is already being confirmed.") { AsText = true };
    private static readonly ErrorAnswer TooManyAtOnce =
        new(503, "Others are handing passwords in just now; try again in a moment") { AsText = true, RetryAfterSeconds = 5 };

    private readonly SemaphoreSlim _bodies = new(AtOnce);

    /// <summary><c>POST /ingestion/append</c> and <c>POST /append</c>.</summary>
    public async Task AppendAsync(WebCall call)
    {
        if (Refuse(call, MostBytes) is { } refusal)
        {
            await refusal.WriteAsync(call.Response);
            return;
        }
        if (!await _bodies.WaitAsync(WaitAtMost, call.Aborted))
        {
            await TooManyAtOnce.WriteAsync(call.Response);
            return;
        }
        try
        {
            await SubmitAsync(call);
        }
        finally
        {
            _bodies.Release();
        }
    }

    /// <summary><c>POST /ingestion/append/confirm</c> and <c>POST /append/confirm</c>.</summary>
    public async Task ConfirmAsync(WebCall call)
    {
        var refusal = Refuse(call, MostConfirmBytes);
        var transaction = "";
        if (refusal is null)
        {
            using var body = await RequestBody.ReadAsync(call.Context, MostConfirmBytes, time);
            refusal = body is null ? TooLong(MostConfirmBytes) : ConfirmDocument.Read(body.Bytes, out transaction);
        }
        refusal ??= !Guid.TryParseExact(transaction, "D", out var id) ? NotFound
            : await appends.ConfirmAsync(SubscriptionOf(call), id, call.Aborted) switch
            {
                AppendConfirmation.NotFound => NotFound,
                AppendConfirmation.Busy => Busy,
                _ => null,
            };
        if (refusal is not null)
            await refusal.WriteAsync(call.Response);
        else
            call.Response.ContentLength = 0;
    }

    public void Dispose() => _bodies.Dispose();

    private async Task SubmitAsync(WebCall call)
    {
        ErrorAnswer? refusal;
        AppendDocument? document = null;
        using (var body = await RequestBody.ReadAsync(call.Context, MostBytes, time))
            refusal = body is null ? TooLong(MostBytes) : AppendDocument.Read(body.Bytes, out document);
        if (refusal is not null)
        {
            await refusal.WriteAsync(call.Response);
            return;
        }
        var id = await appends.SubmitAsync(SubscriptionOf(call), document!.Sha1, document.Ntlm, call.Aborted);
        await JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteString("transactionId"u8, id);
            writer.WriteEndObject();
        });
    }

    /// <summary>What can be said before anything of the body is read; null: nothing is wrong.</summary>
    private static ErrorAnswer? Refuse(WebCall call, int most)
    {
        var request = call.Context.Request;
        if (request.ContentType?.StartsWith("application/json", StringComparison.OrdinalIgnoreCase) != true)
            return NoJson;
        var encoding = request.Headers[HeaderNames.ContentEncoding].ToString();
        if (encoding.Length > 0 && !encoding.Equals("identity", StringComparison.OrdinalIgnoreCase))
            return Encoded;
        return RequestBody.IsLonger(request, most) ? TooLong(most) : null;
    }

    private static ErrorAnswer TooLong(int most) => new(
        413, string.Create(CultureInfo.InvariantCulture, $"A body of at most {most} bytes is taken: send it in several parts"))
    {
        AsText = true,
    };

    private static string SubscriptionOf(WebCall call) => call.Caller.Key?.Hash ?? OpenSubscription;
}
