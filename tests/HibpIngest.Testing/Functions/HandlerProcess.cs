using System.Collections;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using HibpIngest.Hosting.Local;

namespace HibpIngest.Testing;

/// <summary>
/// The handler as a process, started as the Functions host starts it: by the port in its environment, and asked
/// until it answers.
/// </summary>
internal sealed class HandlerProcess : IAsyncDisposable
{
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    /// <summary>What the names of variables begin with that would reach it from around the tests.</summary>
    private static readonly string[] OurVariables = ["HIBP_", "AzureWebJobs", "BreachStorage", "OTEL_", "APPLICATIONINSIGHTS_"];

    private readonly Process _process;
    private readonly StringBuilder _said = new();
    private readonly TaskCompletionSource _outputEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _errorEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private HandlerProcess(string? published, string folder, IReadOnlyDictionary<string, string> variables)
    {
        var start = new ProcessStartInfo(published ?? "dotnet")
        {
            WorkingDirectory = published is null ? folder : Path.GetDirectoryName(published),
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        if (published is null)
            start.ArgumentList.Add(Path.Combine(AppContext.BaseDirectory, "HibpIngest.Functions.dll"));
        foreach (var name in Environment.GetEnvironmentVariables().Cast<DictionaryEntry>().Select(variable => (string)variable.Key)
            .Where(name => OurVariables.Any(start => name.StartsWith(start, StringComparison.OrdinalIgnoreCase))).ToList())
            start.Environment.Remove(name);
        start.Environment[HomeFolder.Variable] = Path.Combine(folder, ".hibp");
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
        _process = new Process { StartInfo = start };
        _process.OutputDataReceived += (_, e) => Take(e.Data, _outputEnded);
        _process.ErrorDataReceived += (_, e) => Take(e.Data, _errorEnded);
        _process.Start();
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
    }

    /// <summary>What it has said on standard output and error so far.</summary>
    public string Said
    {
        get
        {
            lock (_said)
                return _said.ToString();
        }
    }

    /// <summary>Where it listens.</summary>
    public Uri Address { get; private init; } = new("http://127.0.0.1/");

    /// <param name="published">The executable of a published folder; null: what was built beside the tests.</param>
    /// <param name="folder">Where a built one runs.</param>
    public static async Task<HandlerProcess> StartAsync(string? published, string folder, IReadOnlyDictionary<string, string> variables)
    {
        var port = FreePort();
        var process = new HandlerProcess(
            published, folder, new Dictionary<string,
            string>(variables)
            { ["FUNCTIONS_CUSTOMHANDLER_PORT"] = port.ToString(CultureInfo.InvariantCulture) })
        {
            Address = new Uri($"http://127.0.0.1:{port}/"),
        };
        try
        {
            await process.ProbeAsync();
            return process;
        }
        catch
        {
            await process.DisposeAsync();
            throw;
        }
    }

    /// <summary>Runs it to its end, with this environment alone.</summary>
    public static async Task<(int ExitCode, string Said)> RunAsync(string folder, IReadOnlyDictionary<string, string> variables)
    {
        await using var process = new HandlerProcess(null, folder, variables);
        return (await process.EndAsync(), process.Said);
    }

    /// <summary>As the platform does when it takes an instance away.</summary>
    public async Task TerminateAsync()
    {
        using var kill = Process.Start("kill", ["-TERM", _process.Id.ToString(CultureInfo.InvariantCulture)]);
        await kill.WaitForExitAsync();
    }

    /// <summary>Its exit code, once it has ended.</summary>
    public async Task<int> EndAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(TestTimeout);
        await Task.WhenAll(_outputEnded.Task, _errorEnded.Task).WaitAsync(TestTimeout);
        return _process.ExitCode;
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

    /// <summary>The host's question at the start: any HTTP answer will do.</summary>
    private async Task ProbeAsync()
    {
        using var http = new HttpClient();
        using var again = new PeriodicTimer(TimeSpan.FromMilliseconds(50));
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (await again.WaitForNextTickAsync(timeout.Token))
        {
            if (_process.HasExited)
                throw new InvalidOperationException($"the handler ended with {await EndAsync()}: {Said}");
            try
            {
                using var answer = await http.SendAsync(HostRequests.Probe(Address), timeout.Token);
                return;
            }
            catch (HttpRequestException)
            {
                // It doesn't listen yet.
            }
        }
    }

    private void Take(string? line, TaskCompletionSource ended)
    {
        if (line is null)
        {
            ended.TrySetResult();
            return;
        }
        lock (_said)
            _said.AppendLine(line);
    }

    private static int FreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }
}
