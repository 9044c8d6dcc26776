using System.Runtime.CompilerServices;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Polls for effects of another process.</summary>
internal static class Eventually
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(5);

    /// <summary>Polls until the condition is true.</summary>
    /// <param name="before">A call that must still be running; if it ends first, it was too fast or failed.</param>
    /// <exception cref="TimeoutException">It stayed false.</exception>
    public static async Task IsSoAsync(
        Func<Task<bool>> condition, Task<InvocationResult>? before = null,
        [CallerArgumentExpression(nameof(condition))] string expression = "")
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        while (!await condition())
        {
            if (before is { IsCompleted: true })
                throw new InvalidOperationException($"the call ended before the condition was true: {await before}");
            try
            {
                await timer.WaitForNextTickAsync(timeout.Token);
            }
            catch (OperationCanceledException e)
            {
                throw new TimeoutException($"false for {TestTimeout}: {expression}", e);
            }
        }
    }
}
