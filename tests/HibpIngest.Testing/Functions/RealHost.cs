using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using HibpIngest.Hosting.Local;

namespace HibpIngest.Testing;

/// <summary>Driven by a real Functions host, a process that <see cref="DrivenApp.HostVariable"/> starts.</summary>
internal sealed class RealHost : DrivenApp
{
    private const string WebhookKey = "webhook-key-of-a-test";

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _variables = [];
    private readonly StringBuilder _said = new();
    private readonly HttpClient _http = new();
    private readonly int _port = FreePort();
    private Process? _process;

    private RealHost(string storage) => Storage = storage;

    public override string Storage { get; }

    public override string DatabaseFile => Path.Combine(_folder.Path, "hibp.db");

    public override string MailFolder => Path.Combine(_folder.Path, "mail");

    public override string Said
    {
        get
        {
            lock (_said)
                return _said.ToString();
        }
    }

    public static async Task<RealHost> StartAsync(IReadOnlyDictionary<string, string> settings)
    {
        var host = new RealHost(await AzuriteFixture.NewAccountAsync());
        await host.Container.CreateIfNotExistsAsync();
        foreach (var (name, value) in (ReadOnlySpan<(string, string)>)
        [
            ("HIBP_STORAGE", host.Storage), ("BreachStorage", host.Storage), ("AzureWebJobsStorage", host.Storage),
            ("HIBP_DATABASE", host.DatabaseFile), ("HIBP_MAIL", $"pickup:{host.MailFolder}"), ("HIBP_MAILSPERSECOND", "10000"),
            ("HIBP_DEDUPECAP", "1000000"), (HomeFolder.Variable, Path.Combine(host._folder.Path, ".hibp")),
            ("FUNCTIONS_WORKER_RUNTIME", "dotnet-isolated"), ("AzureFunctionsWebHost__hostid", "hibptest"),
            ("AzureFunctionsJobHost__extensions__queues__visibilityTimeout", "00:00:01"),
            ("AzureFunctionsJobHost__extensions__queues__maxPollingInterval", "00:00:00.200"),
            ("AzureWebJobsSecretStorageType", "files"),
        ])
            host._variables[name] = value;
        foreach (var (name, value) in settings)
            host._variables[name] = value;
        var secrets = Directory.CreateDirectory(Path.Combine(host._folder.Path, "secrets"));
        await File.WriteAllTextAsync(Path.Combine(secrets.FullName, "host.json"), $$"""
            {"masterKey":{"name":"master","value":"m","encrypted":false},"functionKeys":[],
             "systemKeys":[{"name":"blobs_extension","value":"{{WebhookKey}}","encrypted":false}]}
            """);
        host._variables["FUNCTIONS_SECRETS_PATH"] = secrets.FullName;
        await host.StartProcessAsync();
        return host;
    }

    public override Task<HibpResult> HibpAsync(params string[] arguments) => HibpInProcess.RunAsync(
        _folder.Path, _variables.Where(variable => variable.Key.StartsWith("HIBP_", StringComparison.Ordinal)).ToDictionary(), arguments);

    public override async Task PostEventAsync(string blob)
    {
        using var request = new HttpRequestMessage(
            HttpMethod.Post,
            new Uri($"http://127.0.0.1:{_port}/runtime/webhooks/blobs?functionName=Host.Functions.IngestBreach&code={WebhookKey}"));
        EventGridEvents.Fill(request, Container.GetBlobClient(blob).Uri, Container.Name, blob);
        using var response = await _http.SendAsync(request);
        response.EnsureSuccessStatusCode();
    }

    public override async Task CrashWorkerAsync()
    {
        using var find = Process.Start(new ProcessStartInfo("pgrep", ["-P", $"{_process!.Id}", "-f", "functions-uri"])
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
        })!;
        var worker = int.Parse((await find.StandardOutput.ReadToEndAsync()).Trim(), CultureInfo.InvariantCulture);
        using var process = Process.GetProcessById(worker);
        process.Kill();
        await process.WaitForExitAsync();
    }

    public override async ValueTask DisposeAsync()
    {
        if (_process is not null)
        {
            if (!_process.HasExited)
                _process.Kill(entireProcessTree: true);
            await _process.WaitForExitAsync();
            _process.Dispose();
        }
        _http.Dispose();
        _folder.Dispose();
    }

    private async Task StartProcessAsync()
    {
        var start = new ProcessStartInfo(Environment.GetEnvironmentVariable(HostVariable)!)
        {
            ArgumentList = { BuiltApp.Folder("HibpIngest.Functions"), "--port", _port.ToString(CultureInfo.InvariantCulture) },
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (var (name, value) in _variables)
            start.Environment[name] = value;
        _process = new Process { StartInfo = start };
        _process.OutputDataReceived += (_, e) => Add(e.Data);
        _process.ErrorDataReceived += (_, e) => Add(e.Data);
        _process.Start();
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
        using var retry = new PeriodicTimer(TimeSpan.FromMilliseconds(200));
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (!await IsUpAsync(timeout.Token))
            await retry.WaitForNextTickAsync(timeout.Token);
    }

    private async Task<bool> IsUpAsync(CancellationToken cancellationToken)
    {
        if (_process!.HasExited)
            throw new InvalidOperationException($"the host ended: {Said}");
        try
        {
            using var response = await _http.GetAsync(new Uri($"http://127.0.0.1:{_port}/api/health"), cancellationToken);
            return response.StatusCode == HttpStatusCode.OK;
        }
        catch (HttpRequestException)
        {
            return false;
        }
    }

    private void Add(string? line)
    {
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
