using System.Diagnostics;
using System.Text;
using HibpIngest.Hosting.Local;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>
/// The built <c>hibp</c> on a terminal of its own, as somebody sits before it: util-linux's <c>script</c> gives
/// the terminal, and passes on what is typed and shown.
/// </summary>
internal sealed class TerminalProcess : IAsyncDisposable
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly Process _process;
    private readonly StringBuilder _shown = new();
    private readonly char[] _buffer = new char[4096];

    /// <param name="folder">Where it runs.</param>
    /// <param name="variables">What it is told by the environment.</param>
    /// <param name="arguments">Its command line, as a shell takes it: redirections and all.</param>
    public TerminalProcess(string folder, IReadOnlyDictionary<string, string> variables, string arguments)
    {
        var hibp = Path.Combine(AppContext.BaseDirectory, "hibp.dll");
        // -e: with the command's exit code; -f: at once; -q: no words of its own. env: whoever runs
        // the tests in the background may have Ctrl+C ignored, and processes hand that down.
        var start = new ProcessStartInfo("script", ["-qefc", $"env --default-signal=INT dotnet '{hibp}' {arguments}", "/dev/null"])
        {
            WorkingDirectory = folder,
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        start.Environment["TERM"] = "xterm";
        start.Environment[HomeFolder.Variable] = Path.Combine(folder, ".hibp");
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
        _process = Process.Start(start)!;
    }

    /// <summary>Waits until something is on the screen.</summary>
    public async Task SeesAsync(string text)
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (!_shown.ToString().Contains(text, StringComparison.Ordinal))
        {
            try
            {
                if (!await ReadAsync(timeout.Token))
                    Assert.Fail($"it ended, and never showed '{text}', but: {_shown}");
            }
            catch (OperationCanceledException)
            {
                Assert.Fail($"it has not shown '{text}' in {TestTimeout.TotalMinutes:0} minutes, but: {_shown}");
            }
        }
    }

    /// <summary>What was shown before doesn't count any more.</summary>
    public void Forget() => _shown.Clear();

    /// <summary>Presses keys; a line ends with \r.</summary>
    public async Task TypeAsync(string keys)
    {
        await _process.StandardInput.WriteAsync(keys);
        await _process.StandardInput.FlushAsync();
    }

    /// <summary>Its exit code, and all that was on the screen.</summary>
    public async Task<(int ExitCode, string Shown)> EndAsync()
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (await ReadAsync(timeout.Token))
        {
            // to the end
        }
        await _process.WaitForExitAsync(timeout.Token);
        return (_process.ExitCode, _shown.ToString());
    }

    public async ValueTask DisposeAsync()
    {
        if (!_process.HasExited)
        {
            _process.Kill(entireProcessTree: true);
            await _process.WaitForExitAsync();
        }
        _process.Dispose();
    }

    private async Task<bool> ReadAsync(CancellationToken cancellationToken)
    {
        var read = await _process.StandardOutput.ReadAsync(_buffer, cancellationToken);
        _shown.Append(_buffer, 0, read);
        return read > 0;
    }
}
