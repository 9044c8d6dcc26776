using HibpIngest.Errors;

namespace HibpIngest.Functions;

/// <summary>
/// httpTrigger <c>GET /api/health</c>, anonymous: 200 when the settings are right and the storage account
/// answers, else 503. It says nothing else, makes nothing that is missing (the first sweep does), and doesn't
/// ask the database, which a probe would keep awake.
/// </summary>
internal sealed class HealthFunction(HandlerPipeline pipeline, TimeProvider time)
{
    /// <summary>Where the host forwards requests for it, with the prefix of all its routes.</summary>
    public const string Route = "/api/health";

    // Anybody may ask, however often; the store is asked once in that time.
    private static readonly TimeSpan KeptFor = TimeSpan.FromSeconds(10);

    // Shorter than a probe waits.
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(5);

    private readonly Lock _lock = new();
    private Task<bool> _check = Task.FromResult(false);
    private long _checkedAt;

    public async Task AnswerAsync(HttpContext context)
    {
        var healthy = await CheckAsync();
        context.Response.StatusCode = healthy ? StatusCodes.Status200OK : StatusCodes.Status503ServiceUnavailable;
        await Answers.WriteJsonAsync(
            context.Response, healthy ? """{"status":"healthy"}"""u8.ToArray() : """{"status":"unhealthy"}"""u8.ToArray());
    }

    private Task<bool> CheckAsync()
    {
        lock (_lock)
        {
            if (_checkedAt == 0 || (_check.IsCompleted && time.GetElapsedTime(_checkedAt) > KeptFor))
            {
                _checkedAt = time.GetTimestamp();
                _check = AskAsync();
            }
            return _check;
        }
    }

    private async Task<bool> AskAsync()
    {
        using var timeout = new CancellationTokenSource(AnswerTimeout, time);
        try
        {
            _ = await pipeline.Context.Register.GetIdentityAsync(timeout.Token);
            return true;
        }
        catch (StoreMissingException)
        {
            return true; // fresh, and it let us in
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            return false;
        }
    }
}
