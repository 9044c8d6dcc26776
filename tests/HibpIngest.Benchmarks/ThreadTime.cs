using System.Runtime.InteropServices;

namespace HibpIngest.Benchmarks;

/// <summary>Wall time, and this thread's processor time, which other processes on the machine don't lengthen.</summary>
internal readonly record struct ThreadTime(TimeSpan Wall, TimeSpan Cpu, long AllocatedBytes)
{
    private const int ThreadCpuClock = 3; // CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)

    /// <summary>Measures work on this thread.</summary>
    public static ThreadTime Of(Action work)
    {
        var (allocated, cpu, began) = (GC.GetAllocatedBytesForCurrentThread(), Cpu0(), Stopwatch.GetTimestamp());
        work();
        var (wall, used) = (Stopwatch.GetElapsedTime(began), Cpu0() - cpu);
        return new ThreadTime(wall, used, GC.GetAllocatedBytesForCurrentThread() - allocated);
    }

    private static TimeSpan Cpu0() =>
        GetTime(ThreadCpuClock, out var now) == 0 ? TimeSpan.FromSeconds(now.Seconds) + TimeSpan.FromMicroseconds(now.Nanoseconds / 1000.0)
            : throw new NotSupportedException("no clock of a thread's processor time");

    [DllImport("libc", EntryPoint = "clock_gettime")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int GetTime(int clock, out Time time);

    [StructLayout(LayoutKind.Sequential)]
    private struct Time
    {
        public long Seconds;
        public long Nanoseconds;
    }
}
