using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Benchmarks;

internal static class SliceStage
{
    /// <summary>Runs a slice without a queue.</summary>
    /// <exception cref="StoreUnavailableException">The table throttles; the slice was released.</exception>
    public static async Task RunAsync(this UpsertSlice stage, long load, int slice, CancellationToken cancellationToken = default)
    {
        await using var run = await stage.ClaimAsync(new SliceMessage { Load = load, Slice = slice }, cancellationToken);
        if (run is null)
            return;
        try
        {
            await stage.RunAsync(run, cancellationToken);
        }
        catch (StoreUnavailableException e)
        {
            await stage.ReleaseAsync(run, e);
            throw;
        }
    }
}
