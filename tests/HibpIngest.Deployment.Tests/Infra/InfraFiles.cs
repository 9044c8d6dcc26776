namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>Reads the files of infra, and runs programs in the repository's root.</summary>
internal static class InfraFiles
{
    public static string Root { get; } = Path.GetDirectoryName(RepositoryFile.Path("HibpIngest.sln"))!;

    /// <summary>Returns the paths of infra's files from the root, with slashes.</summary>
    public static IReadOnlyList<string> List(params string[] extensions) =>
    [
        .. Directory.EnumerateFiles(Path.Combine(Root, "infra"), "*", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(Root, file).Replace('\\', '/'))
            .Where(file => extensions.Contains(Path.GetExtension(file)))
            .Order(StringComparer.Ordinal),
    ];

    public static string Read(string file) => File.ReadAllText(Path.Combine(Root, file));

    public static async Task<(int ExitCode, string Out, string Error)> RunAsync(
        string program, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null)
    {
        var start =
            new ProcessStartInfo(program, arguments)
            {
                WorkingDirectory = Root,
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                UseShellExecute = false
            };
        // The test run's own MSBuild variables would affect a build.
        foreach (var name in start.Environment.Keys.Where(name => name.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(name);
        foreach (var (name, value) in environment ?? new Dictionary<string, string?>())
        {
            if (value is null)
                start.Environment.Remove(name);
            else
                start.Environment[name] = value;
        }
        using var process = Process.Start(start)!;
        process.StandardInput.Close();
        var error = process.StandardError.ReadToEndAsync();
        var output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        return (process.ExitCode, output, await error);
    }
}
