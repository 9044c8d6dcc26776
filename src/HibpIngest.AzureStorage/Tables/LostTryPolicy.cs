using Azure.Core;
using Azure.Core.Pipeline;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Reports each try that had no answer, since its connection was refused, timed out or broke, with the timestamp at which it was
/// sent: the client libraries hide it when a retry succeeds.
/// </summary>
internal sealed class LostTryPolicy(Action<long> lost, TimeProvider time) : HttpPipelinePolicy
{
    public override void Process(HttpMessage message, ReadOnlyMemory<HttpPipelinePolicy> pipeline)
    {
        var sentAt = time.GetTimestamp();
        try
        {
            ProcessNext(message, pipeline);
        }
        catch (Exception) when (!message.CancellationToken.IsCancellationRequested)
        {
            lost(sentAt);
            throw;
        }
    }

    public override async ValueTask ProcessAsync(HttpMessage message, ReadOnlyMemory<HttpPipelinePolicy> pipeline)
    {
        var sentAt = time.GetTimestamp();
        try
        {
            await ProcessNextAsync(message, pipeline);
        }
        catch (Exception) when (!message.CancellationToken.IsCancellationRequested)
        {
            lost(sentAt);
            throw;
        }
    }
}
