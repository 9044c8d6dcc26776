namespace HibpIngest.Testing;

/// <summary>Repeats a health probe. A probe has a time limit, and an emulator that serves many tests at once may exceed it.</summary>
internal static class Probe
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan AskEvery = TimeSpan.FromSeconds(1);

    /// <summary>Returns the last result: the expected one, or another after two minutes.</summary>
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
