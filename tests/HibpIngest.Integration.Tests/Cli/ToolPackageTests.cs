using System.Collections;
using System.Diagnostics;

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

        var demo = JsonDocument.Parse(said).RootElement;
        var accounts = await AcceptanceContract.ExtractAsync(RepositoryFile.Path("samples/Contoso.zip"));
        Assert.Equal(accounts.Count, demo.GetProperty("accounts").GetInt32());
        Assert.Equal("Contoso", Assert.Single(demo.GetProperty("found").EnumerateArray()).GetString());
        var data = Path.Combine(home, ".local", "share", "hibp");
        Assert.Equal(
            demo.GetProperty("notifications").GetInt32(), Directory.GetFiles(Path.Combine(data, "demo", "mail"), "*.eml").Length);
        Assert.NotEmpty(Directory.GetDirectories(Path.Combine(home, ".cache", "hibp"), "emulator-*"));
        Assert.Empty(Directory.EnumerateFileSystemEntries(empty));
    }

    private string Make(string name) => Directory.CreateDirectory(Path.Combine(_folder.Path, name)).FullName;

    /// <summary>Runs a program to its end, and returns its standard output.</summary>
    /// <param name="home">An empty home folder; null keeps that of the test run.</param>
    private static async Task<string> RunAsync(string folder, string? home, string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            WorkingDirectory = folder,
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        var own = Environment.GetEnvironmentVariables().Keys.Cast<string>();
        foreach (var name in own.Where(name => home is not null || name.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(name);
        if (home is not null)
        {
            start.Environment["HOME"] = home;
            start.Environment["PATH"] = Environment.GetEnvironmentVariable("PATH");
            // Finds a runtime outside the platform's default location. npm's download cache may be reused.
            start.Environment["DOTNET_ROOT"] = Environment.GetEnvironmentVariable("DOTNET_ROOT") ?? Path.GetDirectoryName(
                new FileInfo(Environment.ProcessPath!).ResolveLinkTarget(returnFinalTarget: true)?.FullName ?? Environment.ProcessPath!);
            start.Environment["npm_config_cache"] =
                Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".npm");
            start.Environment["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
            foreach (DictionaryEntry variable in Environment.GetEnvironmentVariables())
            {
                // Keeps the settings for reaching package sources, which depend on the machine.
                if (((string)variable.Key).EndsWith("_proxy", StringComparison.OrdinalIgnoreCase)
                    || ((string)variable.Key).StartsWith("npm_config_", StringComparison.OrdinalIgnoreCase)
                    || ((string)variable.Key).EndsWith("_CERTS", StringComparison.Ordinal))
                    start.Environment[(string)variable.Key] = (string?)variable.Value;
            }
        }
        using var process = Process.Start(start)!;
        var (output, error) = (process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
        await process.WaitForExitAsync();
        Assert.True(process.ExitCode == 0, $"{program} {string.Join(' ', arguments)}: {process.ExitCode}: {await output}{await error}");
        return await output;
    }
}
