namespace HibpIngest.Testing;

/// <summary>A real Functions host as a process, started by the script that <see cref="DrivenApp.HostVariable"/> names.</summary>
internal sealed class HostProcess : IAsyncDisposable
{
    public const string WebhookKey = "webhook-key-of-a-test";

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly Process _process;
    private readonly StringBuilder _said = new();
    private readonly int _port = TestProcess.FreePort();
    private readonly string _logs;
    private bool _isDisposed;

    private HostProcess(string appFolder, string folder, IReadOnlyDictionary<string, string> settings)
    {
        var secrets = Directory.CreateDirectory(Path.Combine(folder, "secrets"));
        File.WriteAllText(Path.Combine(secrets.FullName, "host.json"), $$"""
            {"masterKey":{"name":"master","value":"m","encrypted":false},"functionKeys":[],
             "systemKeys":[{"name":"blobs_extension","value":"{{WebhookKey}}","encrypted":false}]}
            """);
        _logs = Path.Combine(folder, "log");
        var start = TestProcess.StartOf(
            Environment.GetEnvironmentVariable(DrivenApp.HostVariable)!,
            [appFolder, "--port", _port.ToString(CultureInfo.InvariantCulture)]);
        (string Name, string Value)[] own =
        [
            ("FUNCTIONS_WORKER_RUNTIME", "dotnet-isolated"), ("AzureFunctionsWebHost__hostid", "hibptest"),
            ("AzureFunctionsJobHost__extensions__queues__visibilityTimeout", "00:00:01"),
            ("AzureFunctionsJobHost__extensions__queues__maxPollingInterval", "00:00:00.200"),
            ("AzureWebJobsSecretStorageType", "files"), ("FUNCTIONS_SECRETS_PATH", secrets.FullName),
            ("AzureFunctionsJobHost__logging__fileLoggingMode", "always"), ("FUNCTIONS_LOG_PATH", _logs),
        ];
        start.SetVariables(folder, settings);
        foreach (var (name, value) in own)
            start.Environment.TryAdd(name, value);
        _process = new Process { StartInfo = start };
        _process.OutputDataReceived += (_, e) => Add(e.Data);
        _process.ErrorDataReceived += (_, e) => Add(e.Data);
        _process.Start();
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
    }

    public Uri Address => new($"http://127.0.0.1:{_port}/");

    /// <summary>All output of host and worker, on the console and in the host's log files.</summary>
    public string Said
    {
        get
        {
            var files = Directory.GetFiles(_logs, "*.log", SearchOption.AllDirectories);
            Assert.NotEmpty(files);
            lock (_said)
                return $"{_said}{string.Concat(files.Select(ReadOpen))}";
        }
    }

    /// <param name="folder">The folder of its secrets.</param>
    /// <param name="health">The path that the app serves once the host is up.</param>
    public static async Task<HostProcess> StartAsync(
        string appFolder, string folder, IReadOnlyDictionary<string, string> settings, string health,
        HttpStatusCode expected = HttpStatusCode.OK)
    {
        var host = new HostProcess(appFolder, folder, settings);
        try
        {
            using var http = new HttpClient();
            using var retry = new PeriodicTimer(TimeSpan.FromMilliseconds(200));
            using var timeout = new CancellationTokenSource(TestTimeout);
            while (await host.FindStatusAsync(http, health, timeout.Token) != expected)
            {
                if (host._process.HasExited)
                    throw new InvalidOperationException("the host ended");
                await retry.WaitForNextTickAsync(timeout.Token);
            }
            return host;
        }
        catch (Exception e)
        {
            await host.DisposeAsync();
            throw new InvalidOperationException($"the app didn't start; output: {host._said}", e);
        }
    }

    public async Task<int> FindWorkerAsync()
    {
        using var find = Process.Start(TestProcess.StartOf("pgrep", ["-P", $"{_process.Id}", "-f", "functions-uri"]))!;
        return int.Parse((await find.StandardOutput.ReadToEndAsync()).Trim(), CultureInfo.InvariantCulture);
    }

    public async Task KillWorkerAsync()
    {
        using var worker = Process.GetProcessById(await FindWorkerAsync());
        worker.Kill();
        await worker.WaitForExitAsync();
    }

    /// <returns>Its worker, which keeps running without a host.</returns>
    public async Task<Process> KillHostAsync()
    {
        var worker = Process.GetProcessById(await FindWorkerAsync());
        _process.Kill();
        await _process.WaitForExitAsync();
        return worker;
    }

    private static string ReadOpen(string file)
    {
        using var reader = new StreamReader(
            new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete));
        return reader.ReadToEnd();
    }

    public async Task<int> TerminateAsync()
    {
        await _process.TerminateAsync();
        await _process.WaitForExitAsync().WaitAsync(TestTimeout);
        return _process.ExitCode;
    }

    /// <summary>Ends the host. Does nothing if called again, as when the next host failed to start.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_isDisposed)
            return;
        _isDisposed = true;
        if (!_process.HasExited)
            _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync();
        _process.Dispose();
    }

    /// <returns>Null if nothing listens.</returns>
    private async Task<HttpStatusCode?> FindStatusAsync(HttpClient http, string path, CancellationToken cancellationToken)
    {
        try
        {
            using var response = await http.GetAsync(new Uri(Address, path), cancellationToken);
            return response.StatusCode;
        }
        catch (HttpRequestException)
        {
            return null;
        }
    }

    private void Add(string? line)
    {
        lock (_said)
            _said.AppendLine(line);
    }
}
