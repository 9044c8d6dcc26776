using HibpIngest.Lookup;

namespace HibpIngest.Web;

/// <summary>The breaches themselves.</summary>
internal sealed class CatalogueEndpoints(CatalogueReader catalogue)
{
    private static readonly ReadOnlyMemory<byte> Null = "null"u8.ToArray();

    /// <summary><c>GET /api/v3/breaches</c>.</summary>
    public async Task BreachesAsync(WebCall call)
    {
        var snapshot = await catalogue.GetAsync(call.Aborted);
        var (domain, spamList) = (call.Query("domain"), call.Query("isSpamList"));
        if (string.IsNullOrEmpty(domain) && !bool.TryParse(spamList, out _))
        {
            await ReadyAnswer.WriteAsync(call.Context, snapshot.AllBreaches);
            return;
        }
        IEnumerable<PublishedBreach> found = snapshot.ByTitle;
        if (!string.IsNullOrEmpty(domain))
            found = found.Where(breach => breach.Model.Domain.Equals(domain, StringComparison.OrdinalIgnoreCase));
        if (bool.TryParse(spamList, out var wanted))
            found = found.Where(breach => breach.Model.IsSpamList == wanted);
        call.Response.Headers.CacheControl = ReadyAnswer.CacheControl;
        await JsonAnswer.WriteArrayAsync(call.Response, [.. found], breach => breach.Json.Identity);
    }

    /// <summary><c>GET /api/v3/breach/{name}</c>.</summary>
    public async Task BreachAsync(WebCall call)
    {
        if ((await catalogue.GetAsync(call.Aborted)).Find(call.Parameter) is { } breach)
            await ReadyAnswer.WriteAsync(call.Context, breach.Json);
        else
            await ErrorAnswer.NotFound.WriteAsync(call.Response);
    }

    /// <summary><c>GET /api/v3/latestbreach</c>.</summary>
    public async Task LatestBreachAsync(WebCall call)
    {
        var latest = (await catalogue.GetAsync(call.Aborted)).Latest;
        if (latest.Identity.Span.SequenceEqual(Null.Span))
            await ErrorAnswer.NotFound.WriteAsync(call.Response);
        else
            await ReadyAnswer.WriteAsync(call.Context, latest);
    }

    /// <summary><c>GET /api/v3/dataclasses</c>.</summary>
    public async Task DataClassesAsync(WebCall call) =>
        await ReadyAnswer.WriteAsync(call.Context, (await catalogue.GetAsync(call.Aborted)).DataClasses);
}
