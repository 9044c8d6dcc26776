namespace HibpIngest.Testing;

/// <summary>Runs commands, and hosts as processes, with a storage account, a database file and a mail folder of the test's own.</summary>
public abstract class CommandTestBase : IAsyncLifetime
{
    protected TemporaryFolder Folder { get; } = new();

    /// <summary>The environment of every command and host; tests may add settings.</summary>
    protected Dictionary<string, string> Variables { get; } = [];

    public virtual async Task InitializeAsync()
    {
        Variables["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync();
        Variables["HIBP_DATABASE"] = Path.Combine(Folder.Path, "hibp.db");
        Variables["HIBP_MAIL"] = "pickup:" + Path.Combine(Folder.Path, "mail");
    }

    public virtual Task DisposeAsync()
    {
        Folder.Dispose();
        return Task.CompletedTask;
    }

    protected Task SetUpAsync() => HibpInProcess.SetUpAsync(Folder.Path, Variables);

    protected Task<HibpResult> RunAsync(params string[] arguments) => HibpInProcess.RunAsync(Folder.Path, Variables, arguments);

    /// <inheritdoc cref="HibpInProcess.RunWithInputAsync"/>
    protected Task<HibpResult> RunWithInputAsync(string input, params string[] arguments) =>
        HibpInProcess.RunWithInputAsync(Folder.Path, Variables, input, arguments);

    /// <summary>Runs a command with --json, asserts that it succeeded, and returns its document.</summary>
    protected async Task<JsonElement> JsonAsync(params string[] arguments) => (await RunAsync([.. arguments, "--json"])).Succeeded().Json;

    /// <summary>Writes a zip with one text, and returns its path.</summary>
    protected string Zip(string name, string text) => Folder.Write(name, PipelineRig.Zip(("dump.csv", text)));

    /// <inheritdoc cref="HibpProcess.StartAsync"/>
    protected Task<HibpProcess> StartAsync(string until, params string[] arguments) =>
        HibpProcess.StartAsync(Folder.Path, Variables, until, arguments);
}
