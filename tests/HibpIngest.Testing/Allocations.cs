namespace HibpIngest.Testing;

internal static class Allocations
{
    private const int Times = 10;

    /// <summary>
    /// Returns the bytes that this thread allocates for the work: the least of ten runs. The work allocates the same
    /// each time; the runtime sometimes adds to it, when tiered compilation replaces a running method or when a
    /// collection has emptied the pools.
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
