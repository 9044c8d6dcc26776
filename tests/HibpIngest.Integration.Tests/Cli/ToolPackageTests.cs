namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the packed dotnet tool on its own, without the repository.</summary>
public sealed class ToolPackageTests : IDisposable
{
    private static readonly string Root = Path.GetDirectoryName(RepositoryFile.Path("HibpIngest.sln"))!;

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Installed_tool_runs_the_demo_in_an_empty_folder()
    {
        var (packages, home, empty) = (Make("packages"), Make("home"), Make("empty"));
        // Packs what the tests run: already built, in their configuration.
        var configuration = new DirectoryInfo(AppContext.BaseDirectory).Parent!.Name;
        await RunAsync(Root, home: null, "dotnet", "pack", "src/HibpIngest.Cli", "-c", configuration, "--no-build", "-o", packages);
        // The folder is the only package source.
        await RunAsync(empty, home, "dotnet", "tool", "install", "--global", "hibp", "--source", packages);

        var said = await RunAsync(empty, home, Path.Combine(home, ".dotnet", "tools", "hibp"), "demo", "--json");

        var demo = JsonElement.Parse(said);
        var accounts = await AcceptanceContract.ExtractAsync(RepositoryFile.Path("samples/Contoso.zip"));
        Assert.Equal(
            ("Contoso", accounts.Count, accounts.Count), (demo.Text("breach"), demo.Number("accounts"), demo.Number("entities")));
        Assert.Equal("Contoso", Assert.Single(demo.List("found")).GetString());
        Assert.True(demo.Number("rejected") > 0);
        Assert.All(demo.GetProperty("seconds").EnumerateObject(), part => Assert.True(part.Value.GetDouble() >= 0));
        Assert.True(demo.GetProperty("seconds").GetProperty("total").GetDouble() > 0);
        var data = Path.Combine(home, ".local", "share", "hibp");
        Assert.True(demo.Number("notifications") > 0);
        Assert.Equal(demo.Number("notifications"), Directory.GetFiles(Path.Combine(data, "demo", "mail"), "*.eml").Length);
        Assert.NotEmpty(Directory.GetDirectories(Path.Combine(home, ".cache", "hibp"), "emulator-*"));
        Assert.Empty(Directory.EnumerateFileSystemEntries(empty));
    }

    private string Make(string name) => Directory.CreateDirectory(Path.Combine(_folder.Path, name)).FullName;

    /// <summary>Runs a program to its end, and returns its standard output.</summary>
    /// <param name="home">An empty home folder; null keeps that of the test run.</param>
    private static async Task<string> RunAsync(string folder, string? home, string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { WorkingDirectory = folder };
        foreach (var name in start.Environment.Keys.Where(name => home is null ? IsOfBuild(name) : !IsOfMachine(name)).ToList())
            start.Environment.Remove(name);
        if (home is not null)
        {
            start.Environment["HOME"] = home;
            start.Environment["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
            // Finds a runtime outside the platform's default location. npm's download cache may be reused.
            start.Environment["DOTNET_ROOT"] = Environment.GetEnvironmentVariable("DOTNET_ROOT") ?? Path.GetDirectoryName(
                new FileInfo(Environment.ProcessPath!).ResolveLinkTarget(returnFinalTarget: true)?.FullName ?? Environment.ProcessPath!);
            start.Environment.TryAdd(
                "npm_config_cache", Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".npm"));
        }
        return (await start.RunToEndAsync()).Succeeded().Output;
    }

    private static bool IsOfBuild(string variable) => variable.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase);

    /// <summary>Returns whether it is needed to find programs or to reach package sources, which depends on the machine.</summary>
    private static bool IsOfMachine(string variable) => variable == "PATH"
        || variable.EndsWith("_proxy", StringComparison.OrdinalIgnoreCase)
        || variable.StartsWith("npm_config_", StringComparison.OrdinalIgnoreCase)
        || variable.EndsWith("_CERTS", StringComparison.Ordinal);
}
