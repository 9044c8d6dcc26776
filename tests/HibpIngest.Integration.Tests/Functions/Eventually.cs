namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Waits for what another process does.</summary>
internal static class Eventually
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    /// <summary>Looks until it is so.</summary>
    /// <param name="before">A call that has to be under way still; one that ends before has been too fast, or failed.</param>
    public static async Task IsSoAsync(Func<Task<bool>> isSo, Task<InvocationResult>? before = null)
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        using var look = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        while (!await isSo())
        {
            if (before is { IsCompleted: true })
                throw new InvalidOperationException($"ended before: {await before}");
            await look.WaitForNextTickAsync(timeout.Token);
        }
    }
}
