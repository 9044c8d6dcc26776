namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Polls for effects of another process.</summary>
internal static class Eventually
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    /// <summary>Polls until the condition is true.</summary>
    /// <param name="before">A call that must still be running; if it ends first, it was too fast or failed.</param>
    public static async Task IsSoAsync(Func<Task<bool>> condition, Task<InvocationResult>? before = null)
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        while (!await condition())
        {
            if (before is { IsCompleted: true })
                throw new InvalidOperationException($"ended before: {await before}");
            await timer.WaitForNextTickAsync(timeout.Token);
        }
    }
}
