using System.Net.Http.Headers;
using System.Text.Json.Nodes;
using Polly;

namespace HibpIngest.Passwords.Releases;

/// <summary>
/// Purges caches in front of the API by a POST in the form of Cloudflare's API (developers.cloudflare.com/api, "Purge Cached Content"),
/// <c>{"purge_everything":true}</c> or <c>{"files":["https://..."]}</c>.
/// </summary>
/// <param name="url">The URL that is called (HIBP_PURGE_URL); if null, no cache is purged.</param>
/// <param name="token">The bearer token (HIBP_PURGE_TOKEN); if null, none is sent.</param>
public sealed partial class PurgeHook(Uri? url, string? token, HttpClient http, ILogger<PurgeHook> log)
{
    // developers.cloudflare.com/cache/how-to/purge-cache/purge-by-single-file
    private const int MaxAddresses = 30;

    // Three attempts: the operator who waits for them can run the command again.
    private static readonly ResiliencePipeline<string?> Retries = new ResiliencePipelineBuilder<string?>().AddRetry(new()
    {
        MaxRetryAttempts = 2,
        Delay = TimeSpan.FromMilliseconds(200),
        BackoffType = DelayBackoffType.Exponential,
        UseJitter = true,
        ShouldHandle = static attempt => new ValueTask<bool>(attempt.Outcome.Result is not null),
    }).Build();

    public bool IsSet => url is not null;

    /// <exception cref="UnavailableException">Three attempts failed.</exception>
    public async Task PurgeEverythingAsync(CancellationToken cancellationToken)
    {
        if (IsSet)
            await SendAsync("""{"purge_everything":true}""", cancellationToken);
    }

    /// <exception cref="UnavailableException">Three attempts failed.</exception>
    public async Task PurgeAsync(IEnumerable<string> addresses, CancellationToken cancellationToken)
    {
        if (url is null)
            return;
        foreach (var some in addresses.Chunk(MaxAddresses))
        {
            var files = new JsonArray([.. some.Select(address => JsonValue.Create(address))]);
            await SendAsync(new JsonObject { ["files"] = files }.ToJsonString(), cancellationToken);
        }
    }

    private async Task SendAsync(string json, CancellationToken cancellationToken)
    {
        if (await Retries.ExecuteAsync(token => TryAsync(json, token), cancellationToken) is { } reason)
        {
            LogFailed(reason);
            throw new UnavailableException(
                $"the served release was changed, but its caches were not purged: HIBP_PURGE_URL answered with {reason}. "
                + "Run the same command again, or purge them by hand");
        }
    }

    /// <returns>Null if the request succeeded, otherwise the reason.</returns>
    private async ValueTask<string?> TryAsync(string json, CancellationToken cancellationToken)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, url)
        {
            Content = new StringContent(json, Encoding.UTF8, "application/json"),
        };
        if (token is not null)
            request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);
        try
        {
            using var response = await http.SendAsync(request, cancellationToken);
            return response.IsSuccessStatusCode ? null : $"status {(int)response.StatusCode}";
        }
        catch (Exception e) when (e is HttpRequestException || (e is TaskCanceledException && !cancellationToken.IsCancellationRequested))
        {
            return "no answer";
        }
    }

    [LoggerMessage(EventIds.PurgeHookFailed, LogLevel.Warning, "passwords: cache purge failed: {Reason}")]
    private partial void LogFailed(string reason);
}
