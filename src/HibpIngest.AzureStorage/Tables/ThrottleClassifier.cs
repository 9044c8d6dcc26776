using Azure.Core;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Leaves what says "slow down" to <see cref="WriteThrottle"/>, which knows who else is writing: the pipeline's
/// own tries would meet the same partition, each after a pause of its own.
/// </summary>
internal sealed class ThrottleClassifier : ResponseClassifier
{
    public static readonly ThrottleClassifier Instance = new();

    /// <summary>
    /// Busy, or so busy that the service's own time ran out
    /// (learn.microsoft.com/rest/api/storageservices/table-service-error-codes).
    /// </summary>
    public static bool IsThrottled(int status, string? code) =>
        status is 408 or 429 or 503 or 504 || code is "ServerBusy" or "OperationTimedOut";

    /// <inheritdoc/>
    public override bool IsRetriableResponse(HttpMessage message) =>
        !IsThrottled(message.Response.Status, message.Response.Headers.TryGetValue("x-ms-error-code", out var code) ? code : null)
        && base.IsRetriableResponse(message);
}
