using Azure.Core;
using Azure.Core.Pipeline;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Counts, of each try, whether it was one more and whether its answer asked to slow down: 0 too, so that none
/// shows as none.
/// </summary>
internal sealed class TryCountPolicy : HttpPipelineSynchronousPolicy
{
    public static readonly TryCountPolicy Instance = new();

    public override void OnSendingRequest(HttpMessage message) =>
        StorageTelemetry.Retries.Add(message.ProcessingContext.RetryNumber > 0 ? 1 : 0);

    public override void OnReceivedResponse(HttpMessage message) =>
        StorageTelemetry.Throttled.Add(message.Response.Status is 429 or 503 ? 1 : 0);
}
