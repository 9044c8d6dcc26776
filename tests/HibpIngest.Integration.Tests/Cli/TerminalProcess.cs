namespace HibpIngest.Integration.Tests.Cli;

/// <summary>The built <c>hibp</c> on a pseudo-terminal: util-linux's <c>script</c> provides it, and passes on input and output.</summary>
internal sealed class TerminalProcess : IAsyncDisposable
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly Process _process;
    private readonly StringBuilder _shown = new();
    private readonly char[] _buffer = new char[4096];

    /// <param name="folder">Its working directory.</param>
    /// <param name="variables">Its environment.</param>
    /// <param name="arguments">Its command line in shell syntax.</param>
    public TerminalProcess(string folder, IReadOnlyDictionary<string, string> variables, string arguments)
    {
        var hibp = Path.Combine(AppContext.BaseDirectory, "hibp.dll");
        // -e: returns the command's exit code; -f: flushes at once; -q: prints nothing of its own. env: a background
        // test run may have Ctrl+C ignored, which child processes inherit.
        var start = new ProcessStartInfo("script", ["-qefc", $"env --default-signal=INT dotnet '{hibp}' {arguments}", "/dev/null"])
        {
            WorkingDirectory = folder,
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        start.Environment["TERM"] = "xterm";
        start.SetVariables(folder, variables);
        _process = Process.Start(start)!;
    }

    /// <summary>Waits until the terminal shows a text.</summary>
    public async Task SeesAsync(string text)
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (!_shown.ToString().Contains(text, StringComparison.Ordinal))
        {
            try
            {
                if (!await ReadAsync(timeout.Token))
                    Assert.Fail($"the process ended without showing '{text}'; shown: {_shown}");
            }
            catch (OperationCanceledException)
            {
                Assert.Fail($"'{text}' was not shown within {TestTimeout.TotalMinutes:0} minutes; shown: {_shown}");
            }
        }
    }

    /// <summary>Discards what was shown before.</summary>
    public void Forget() => _shown.Clear();

    /// <summary>Types keys; \r ends a line.</summary>
    public async Task TypeAsync(string keys)
    {
        await _process.StandardInput.WriteAsync(keys);
        await _process.StandardInput.FlushAsync();
    }

    /// <summary>Returns the exit code and the whole output.</summary>
    public async Task<(int ExitCode, string Shown)> EndAsync()
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (await ReadAsync(timeout.Token))
        {
            // Until the end.
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
