using System.Collections.Concurrent;
using System.Diagnostics;
using HibpIngest.Hosting;

namespace HibpIngest.Benchmarks;

/// <summary>Runs the real command line in processes, which are ended on disposal.</summary>
/// <param name="folder">Their working directory.</param>
/// <param name="variables">Their environment; later additions apply to processes started afterwards.</param>
internal sealed class CommandProcesses(string folder, Dictionary<string, string> variables) : IAsyncDisposable
{
    private readonly List<Process> _processes = [];

    /// <summary>Starts a command; the caller reads its output.</summary>
    public Process Start(params string[] arguments)
    {
        var start = new ProcessStartInfo("dotnet", [Path.Combine(AppContext.BaseDirectory, "hibp.dll"), .. arguments])
        {
            WorkingDirectory = folder,
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment[HomeFolder.Variable] = Path.Combine(folder, ".hibp");
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
        var process = Process.Start(start)!;
        _processes.Add(process);
        return process;
    }

    /// <summary>
    /// Runs a command to its end, and returns its output. It runs in this process, because starting one costs up to a
    /// second of CPU: paths must be absolute.
    /// </summary>
    /// <exception cref="InvalidOperationException">The command failed.</exception>
    public async Task<string> RunAsync(params string[] arguments)
    {
        var result = await HibpInProcess.RunAsync(folder, variables, arguments);
        return result.ExitCode == 0 ? result.Output
            : throw new InvalidOperationException($"hibp {string.Join(' ', arguments)}: {result.ExitCode}: {result.Error}");
    }

    /// <summary>Returns the first line on standard error with this beginning; later output is discarded.</summary>
    public static async Task<string> SaysAsync(Process process, string beginning)
    {
        var said = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        var all = new ConcurrentQueue<string>();
        process.ErrorDataReceived += (_, line) =>
        {
            if (line.Data is null)
                said.TrySetException(new InvalidOperationException($"it never said '{beginning}', but: {string.Join('\n', all)}"));
            else if (line.Data.StartsWith(beginning, StringComparison.Ordinal))
                said.TrySetResult(line.Data);
            else if (!said.Task.IsCompleted)
                all.Enqueue(line.Data);
        };
        process.BeginErrorReadLine();
        process.OutputDataReceived += (_, _) => { };
        process.BeginOutputReadLine();
        return await said.Task;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var process in _processes)
        {
            if (!process.HasExited)
                process.Kill(entireProcessTree: true);
            await process.WaitForExitAsync();
            process.Dispose();
        }
    }
}
