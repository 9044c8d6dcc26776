namespace HibpIngest.Testing;

/// <summary>What a piece of work allocates by itself.</summary>
internal static class Allocations
{
    private const int Times = 10;

    /// <summary>
    /// The bytes that this thread allocates for the work, the least of ten times. What the work allocates, it allocates each time;
    /// the runtime allocates now and then besides: where its compiler replaces a method that runs, or where a collection has emptied
    /// the pools.
    /// </summary>
    public static long Of(Action work)
    {
        var least = long.MaxValue;
        for (var i = 0; i < Times && least > 0; i++)
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            work();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }
        return least;
    }
}
