using System.Runtime.InteropServices;

namespace HibpIngest.Benchmarks;

/// <summary>
/// A process that gets a share of the time only, as on a busy machine: stopped (SIGSTOP) and continued by turns until this is
/// disposed. Its sockets stay open; what connects meanwhile waits in the accept queue.
/// </summary>
internal sealed class SlowedProcess : IDisposable
{
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(100);
    private const int Continue = 18;
    private const int Stop = 19;

    private readonly ManualResetEventSlim _ended = new();
    private readonly Thread _thread;

    /// <param name="process">Its id.</param>
    /// <param name="share">Of the time that it runs.</param>
    public SlowedProcess(int process, double share)
    {
        // Not a task: the pool is busy with what is measured.
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
