namespace HibpIngest.Testing;

/// <summary>The built <c>hibp</c> in its own folder, without the caller's variables: for hosts, and for what only a process has.</summary>
public sealed class HibpProcess : IAsyncDisposable
{
    /// <summary>Far more than any command here takes, even on a busy machine.</summary>
    internal static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(8);

    private readonly Process _process;
    private readonly StringBuilder _error = new();
    private readonly Task<string> _output;
    private readonly TaskCompletionSource _said = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private HibpProcess(string folder, IReadOnlyDictionary<string, string> variables, string? waitFor, string? input, string[] arguments)
    {
        var start = TestProcess.StartOf("dotnet", [Path.Combine(AppContext.BaseDirectory, "hibp.dll"), .. arguments]);
        (start.WorkingDirectory, start.RedirectStandardInput) = (folder, true);
        start.SetVariables(folder, variables);
        _process = new Process { StartInfo = start };
        _process.ErrorDataReceived += (_, e) =>
        {
            if (e.Data is null)
                return;
            lock (_error)
                _error.AppendLine(e.Data);
            if (waitFor is not null && e.Data.Contains(waitFor, StringComparison.Ordinal))
                _said.TrySetResult();
        };
        _process.Start();
        _process.BeginErrorReadLine();
        _output = _process.StandardOutput.ReadToEndAsync();
        if (input is not null)
            _process.StandardInput.Write(input);
        _process.StandardInput.Close();
    }

    public int Id => _process.Id;

    public bool HasExited => _process.HasExited;

    /// <summary>The API's address, as a server prints it at its start.</summary>
    public string Address =>
        Error.Split('\n').Single(line => line.StartsWith("API:", StringComparison.Ordinal))["API:".Length..].Trim();

    public static HibpProcess Start(string folder, IReadOnlyDictionary<string, string> variables, params string[] arguments) =>
        new(folder, variables, waitFor: null, input: null, arguments);

    public static async Task<HibpResult> RunAsync(string folder, IReadOnlyDictionary<string, string> variables, params string[] arguments)
    {
        await using var process = Start(folder, variables, arguments);
        return await process.EndAsync();
    }

    public static async Task<HibpResult> RunWithInputAsync(
        string folder, IReadOnlyDictionary<string, string> variables, string input, params string[] arguments)
    {
        await using var process = new HibpProcess(folder, variables, waitFor: null, input, arguments);
        return await process.EndAsync();
    }

    /// <summary>Starts it, and returns when standard error contains a text.</summary>
    public static async Task<HibpProcess> StartAsync(
        string folder, IReadOnlyDictionary<string, string> variables, string waitFor, params string[] arguments)
    {
        var process = new HibpProcess(folder, variables, waitFor, input: null, arguments);
        if (await Task.WhenAny(process._said.Task, process._process.WaitForExitAsync(), Task.Delay(TestTimeout)) == process._said.Task)
            return process;
        await using (process)
            throw new InvalidOperationException($"it never said '{waitFor}', but: {process.Error}");
    }

    public async Task<HibpResult> EndAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(TestTimeout);
        return new HibpResult(_process.ExitCode, await _output, Error);
    }

    public async Task<HibpResult> TerminateAsync()
    {
        await SignalAsync("TERM");
        return await EndAsync();
    }

    public Task SignalAsync(string signal) => _process.SignalAsync(signal);

    public async Task KillAsync()
    {
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync();
    }

    /// <summary>Waits for the end, or until the token is cancelled; returns whether it has ended.</summary>
    public async Task<bool> HasEndedAsync(CancellationToken until)
    {
        await _process.WaitForExitAsync(until).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return _process.HasExited;
    }

    public async ValueTask DisposeAsync()
    {
        if (!_process.HasExited)
            await KillAsync();
        _process.Dispose();
    }

    public string Error
    {
        get
        {
            lock (_error)
                return _error.ToString();
        }
    }
}

public sealed record HibpResult(int ExitCode, string Output, string Error)
{
    /// <summary>Standard output, which must be exactly one JSON document.</summary>
    public JsonElement Json => JsonDocument.Parse(Output).RootElement;

    public HibpResult Succeeded()
    {
        Assert.True(ExitCode == 0, $"exit code {ExitCode}; output: {Output}; error: {Error}");
        return this;
    }

    /// <summary>Asserts that it succeeded, and that its output contains a text.</summary>
    public HibpResult Printed(string expected)
    {
        Assert.Contains(expected, Succeeded().Output, StringComparison.Ordinal);
        return this;
    }

    /// <summary>Asserts that it failed with one line that contains a text, and returns that line.</summary>
    public string FailedWith(string expected)
    {
        var line = FailedWithOneLine();
        Assert.Contains(expected, line, StringComparison.Ordinal);
        return line;
    }

    /// <summary>Asserts that it failed with one line, and returns that line.</summary>
    public string FailedWithOneLine()
    {
        Assert.True(ExitCode == 1, $"exit code {ExitCode}; output: {Output}; error: {Error}");
        var line = Assert.Single(Error.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.StartsWith("error: ", line, StringComparison.Ordinal);
        return line;
    }
}
