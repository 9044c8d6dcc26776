using Azure.Core;
using Azure.Core.Pipeline;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>Counts the answers, each try's, that asked to slow down.</summary>
internal sealed class ThrottleCountPolicy : HttpPipelineSynchronousPolicy
{
    public static readonly ThrottleCountPolicy Instance = new();

    public override void OnReceivedResponse(HttpMessage message)
    {
        if (message.Response.Status is 429 or 503)
            StorageTelemetry.Throttled.Add(1);
    }
}
