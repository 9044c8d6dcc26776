using System.Text.Json.Nodes;

namespace HibpIngest.Testing;

internal sealed class RealHost : DrivenApp
{
    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _variables;
    private readonly HttpClient _http = new();
    private readonly List<Process> _orphans = [];
    private HostProcess _host = null!;
    private string _appFolder = BuiltApp.Folder("HibpIngest.Functions");
    private string _saidBefore = "";

    private RealHost(string storage, IReadOnlyDictionary<string, string> settings)
    {
        Storage = storage;
        _variables = SettingsOf(storage, _folder.Path, settings);
    }

    public override string Storage { get; }

    public override string DatabaseFile => Path.Combine(_folder.Path, "hibp.db");

    public override string MailFolder => Path.Combine(_folder.Path, "mail");

    public override string Said => _saidBefore + _host.Said;

    public static async Task<RealHost> StartAsync(string storage, IReadOnlyDictionary<string, string> settings)
    {
        var host = new RealHost(storage, settings);
        await host.Container.CreateIfNotExistsAsync();
        await host.StartHostAsync(host._appFolder, HttpStatusCode.OK);
        return host;
    }

    public override Task<HibpResult> HibpAsync(params string[] arguments) =>
        HibpInProcess.RunAsync(_folder.Path, _variables, arguments);

    public override async Task PostEventAsync(string blob)
    {
        using var request = new HttpRequestMessage(
            HttpMethod.Post,
            new Uri(_host.Address, $"runtime/webhooks/blobs?functionName=Host.Functions.IngestBreach&code={HostProcess.WebhookKey}"));
        EventGridEvents.Fill(request, Container.GetBlobClient(blob).Uri, Container.Name, blob);
        using var response = await _http.SendAsync(request);
        response.EnsureSuccessStatusCode();
    }

    public override Task<int> FindWorkerAsync() => _host.FindWorkerAsync();

    public override Task CrashWorkerAsync() => _host.KillWorkerAsync();

    public override async Task CrashHostAsync()
    {
        _orphans.Add(await _host.KillHostAsync());
        await StartNextAsync();
    }

    public override async Task StopAsync() => Assert.Equal(0, await _host.TerminateAsync());

    public override Task StartNextAsync() => StartNextAsync(_appFolder, HttpStatusCode.OK);

    public override Task StartNextElsewhereAsync()
    {
        _appFolder = CopyApp("moved");
        return StartNextAsync();
    }

    /// <summary>The worker's own configuration names the hook: a variable would apply to the host too. Health then returns 500.</summary>
    public override async Task StartNextWithoutMemoryAsync()
    {
        var copy = CopyApp("without-memory");
        var file = Path.Combine(copy, "HibpIngest.Functions.runtimeconfig.json");
        var configuration = JsonNode.Parse(await File.ReadAllTextAsync(file))!;
        configuration["runtimeOptions"]!["configProperties"]!["STARTUP_HOOKS"] = StartupHook.File;
        await File.WriteAllTextAsync(file, configuration.ToJsonString());
        await StartNextAsync(copy, HttpStatusCode.InternalServerError);
    }

    public override async ValueTask DisposeAsync()
    {
        await _host.DisposeAsync();
        foreach (var orphan in _orphans)
        {
            orphan.Kill();
            await orphan.WaitForExitAsync();
            orphan.Dispose();
        }
        _http.Dispose();
        _folder.Dispose();
    }

    private async Task StartNextAsync(string appFolder, HttpStatusCode health)
    {
        _saidBefore += _host.Said;
        await _host.DisposeAsync();
        await StartHostAsync(appFolder, health);
    }

    private async Task StartHostAsync(string appFolder, HttpStatusCode health) =>
        _host = await HostProcess.StartAsync(appFolder, _folder.Path, _variables, "api/health", health);

    private string CopyApp(string name)
    {
        var target = Path.Combine(_folder.Path, name);
        foreach (var file in Directory.EnumerateFiles(_appFolder, "*", SearchOption.AllDirectories))
        {
            var copy = Path.Combine(target, Path.GetRelativePath(_appFolder, file));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(file, copy);
        }
        return target;
    }
}
