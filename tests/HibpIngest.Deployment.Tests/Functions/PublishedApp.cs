using System.Diagnostics;
using System.Text.Json.Nodes;

namespace HibpIngest.Deployment.Tests.Functions;

/// <summary>What <c>dotnet publish</c> makes of the Functions app, made once for the whole test run.</summary>
internal static class PublishedApp
{
    private static readonly Lazy<Task<string>> Shared = new(PublishAsync);

    /// <summary>The folder; it is deleted with the process.</summary>
    public static Task<string> FolderAsync() => Shared.Value;

    /// <summary>What host.json says the host starts.</summary>
    public static async Task<string> ExecutableAsync()
    {
        var folder = await FolderAsync();
        var host = JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(folder, "host.json")))!;
        return Path.Combine(folder, (string)host["customHandler"]!["description"]!["defaultExecutablePath"]!);
    }

    private static async Task<string> PublishAsync()
    {
        var folder = Directory.CreateTempSubdirectory("hibp-test-app-").FullName;
        AppDomain.CurrentDomain.ProcessExit += (_, _) => Directory.Delete(folder, recursive: true);
        // As docs/deploying.md says; what it prints is shown when it fails.
        var start = new ProcessStartInfo("dotnet", ["publish", "src/HibpIngest.Functions", "-c", "Release", "-o", folder])
        {
            WorkingDirectory = Path.GetDirectoryName(RepositoryFile.Path("HibpIngest.sln")),
            RedirectStandardOutput = true,
            UseShellExecute = false,
        };
        // The test run's own MSBuild variables are not for this one.
        foreach (var name in start.Environment.Keys.Where(name => name.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(name);
        using var process = Process.Start(start)!;
        var said = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        return process.ExitCode == 0 ? folder : throw new InvalidOperationException($"dotnet publish failed: {said}");
    }
}
