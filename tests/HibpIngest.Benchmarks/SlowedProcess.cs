using System.Runtime.InteropServices;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Gives a process only a share of the time, as on a busy machine, by stopping (SIGSTOP) and continuing it until
/// disposed. Its sockets stay open; new connections wait in the accept queue.
/// </summary>
internal sealed class SlowedProcess : IDisposable
{
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(100);
    private const int Continue = 18;
    private const int Stop = 19;

    private readonly ManualResetEventSlim _ended = new();
    private readonly Thread _thread;

    /// <param name="process">Process id.</param>
    /// <param name="share">The share of time in which it runs.</param>
    public SlowedProcess(int process, double share)
    {
        // A thread, because the pool is busy with what is measured.
        _thread = new Thread(() =>
        {
            while (!_ended.IsSet)
            {
                Kill(process, Continue);
                _ended.Wait(Turn * share);
                Kill(process, Stop);
                _ended.Wait(Turn * (1 - share));
            }
            Kill(process, Continue);
        })
        { IsBackground = true, Priority = ThreadPriority.Highest };
        _thread.Start();
    }

    public void Dispose()
    {
        _ended.Set();
        _thread.Join();
        _ended.Dispose();
    }

    [DllImport("libc", EntryPoint = "kill")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Kill(int process, int signal);
}
