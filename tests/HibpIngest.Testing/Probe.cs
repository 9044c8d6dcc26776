namespace HibpIngest.Testing;

/// <summary>
/// Asks whether a store is well as probes do, again and again: one that takes its time over an answer, as emulators do beside
/// many tests, is unwell to whoever doesn't wait for it.
/// </summary>
internal static class Probe
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan AskEvery = TimeSpan.FromSeconds(1);

    /// <summary>The last answer: the one that is expected, unless there is none in two minutes.</summary>
    public static async Task<T> AskUntilAsync<T>(T expected, Func<Task<T>> ask)
    {
        using var again = new PeriodicTimer(AskEvery);
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (true)
        {
            var answer = await ask();
            if (EqualityComparer<T>.Default.Equals(answer, expected) || timeout.IsCancellationRequested)
                return answer;
            await again.WaitForNextTickAsync(CancellationToken.None);
        }
    }
}
