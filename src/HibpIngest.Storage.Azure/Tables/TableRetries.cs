using Azure.Core.Pipeline;
using Azure.Identity;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Retries requests to the Table service, counts the attempts, and reports those without a response. Leaves throttled upserts to
/// <see cref="WriteThrottle"/>, which knows the other writers: retries of each request would meet the same busy partition.
/// </summary>
/// <param name="lost">Receives the timestamp of each attempt whose connection was refused, timed out or broke; null to report none.</param>
internal sealed class TableRetries(StorageOptions options, Action<long>? lost)
    : RetryPolicy(options.MaxRetries, DelayStrategy.CreateExponentialDelayStrategy(options.RetryDelay, options.MaxRetryDelay))
{
    // Includes a service so busy that its own timeout elapsed (learn.microsoft.com/rest/api/storageservices/table-service-error-codes).
    public static bool IsThrottled(int status, string? code) =>
        status is 408 or 429 or 503 or 504 || code is "ServerBusy" or "OperationTimedOut";

    // Both counters include 0, so that they exist before the first retry.
    protected override void OnSendingRequest(HttpMessage message)
    {
        message.SetProperty(typeof(TableRetries), options.TimeProvider.GetTimestamp());
        StorageTelemetry.Retries.Add(message.ProcessingContext.RetryNumber > 0 ? 1 : 0);
    }

    protected override ValueTask OnSendingRequestAsync(HttpMessage message)
    {
        OnSendingRequest(message);
        return default;
    }

    protected override void OnRequestSent(HttpMessage message) =>
        StorageTelemetry.Throttled.Add(message.HasResponse && message.Response.Status is 429 or 503 ? 1 : 0);

    protected override ValueTask OnRequestSentAsync(HttpMessage message)
    {
        OnRequestSent(message);
        return default;
    }

    protected override bool ShouldRetry(HttpMessage message, Exception? exception) =>
        !IsFinal(message, exception) && base.ShouldRetry(message, exception);

    protected override ValueTask<bool> ShouldRetryAsync(HttpMessage message, Exception? exception) =>
        IsFinal(message, exception) ? new(false) : base.ShouldRetryAsync(message, exception);

    private bool IsFinal(HttpMessage message, Exception? exception)
    {
        if (exception is null)
        {
            return IsUpsert(message.Request) && IsThrottled(
                message.Response.Status, message.Response.Headers.TryGetValue("x-ms-error-code", out var code) ? code : null);
        }
        if (exception is not AuthenticationFailedException && !message.CancellationToken.IsCancellationRequested
            && message.TryGetProperty(typeof(TableRetries), out var sentAt))
            lost?.Invoke((long)sentAt!);
        return false;
    }

    private static bool IsUpsert(Request request) =>
        request.Method == RequestMethod.Patch || request.Uri.Path.EndsWith("$batch", StringComparison.Ordinal);
}
