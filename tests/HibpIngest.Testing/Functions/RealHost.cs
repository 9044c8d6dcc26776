using System.Diagnostics;

namespace HibpIngest.Testing;

/// <summary>The app driven by a real Functions host.</summary>
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

    public static async Task<RealHost> StartAsync(IReadOnlyDictionary<string, string> settings)
    {
        var host = new RealHost(await AzuriteFixture.NewAccountAsync(), settings);
        await host.Container.CreateIfNotExistsAsync();
        await host.StartHostAsync();
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

    public override Task CrashWorkerAsync() => _host.KillWorkerAsync();

    public override async Task CrashHostAsync()
    {
        _orphans.Add(await _host.KillHostAsync());
        await ReplaceHostAsync();
    }

    public override async Task RestartAsync()
    {
        Assert.Equal(0, await _host.TerminateAsync());
        await ReplaceHostAsync();
    }

    public override Task MoveAsync()
    {
        var moved = Path.Combine(_folder.Path, "moved");
        foreach (var file in Directory.EnumerateFiles(_appFolder, "*", SearchOption.AllDirectories))
        {
            var copy = Path.Combine(moved, Path.GetRelativePath(_appFolder, file));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(file, copy);
        }
        _appFolder = moved;
        return RestartAsync();
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

    private async Task ReplaceHostAsync()
    {
        _saidBefore += _host.Said;
        await _host.DisposeAsync();
        await StartHostAsync();
    }

    private async Task StartHostAsync() =>
        _host = await HostProcess.StartAsync(_appFolder, _folder.Path, _variables, "api/health");
}
