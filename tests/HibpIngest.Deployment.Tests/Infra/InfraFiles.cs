namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>Lists the files of infra, and runs programs in the repository's root.</summary>
internal static class InfraFiles
{
    /// <summary>Returns the paths of infra's files from the root, with slashes.</summary>
    public static IReadOnlyList<string> List(params string[] extensions) =>
    [
        .. Directory.EnumerateFiles(Path.Combine(DocumentFiles.Root, "infra"), "*", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(DocumentFiles.Root, file).Replace('\\', '/'))
            .Where(file => extensions.Contains(Path.GetExtension(file)))
            .Order(StringComparer.Ordinal),
    ];

    public static Task<HibpResult> RunAsync(
        string program, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null)
    {
        var start = TestProcess.StartOf(program, arguments);
        start.WorkingDirectory = DocumentFiles.Root;
        // The test run's own MSBuild variables would affect a build.
        foreach (var name in start.Environment.Keys.Where(name => name.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(name);
        foreach (var (name, value) in environment ?? new Dictionary<string, string?>())
            start.Environment[name] = value; // null removes it
        return start.RunToEndAsync();
    }
}
