using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>
/// Tries again what a table refuses that is throttling, or down for a moment: what walks over a table may take
/// hours, and whoever runs it needn't look after it.
/// </summary>
internal static class Patience
{
    // Two minutes in all, behind the retries of each request: as long as a failover takes.
    private static readonly TimeSpan FirstPause = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(64);

    /// <param name="call">Told nothing; may be made again.</param>
    /// <param name="paused">Told of each pause, and why.</param>
    /// <param name="time">The clock.</param>
    /// <param name="cancellationToken">Stops it.</param>
    public static async Task<T> CallAsync<T>(
        Func<Task<T>> call, Action<string, TimeSpan> paused, TimeProvider time, CancellationToken cancellationToken)
    {
        for (var pause = FirstPause; ; pause *= 2)
        {
            try
            {
                return await call();
            }
            catch (StoreUnavailableException e) when (e is not StoreFullException && pause <= LongestPause)
            {
                paused(e.Message, pause);
                await Task.Delay(pause * (0.5 + (Random.Shared.NextDouble() / 2)), time, cancellationToken);
            }
        }
    }
}
