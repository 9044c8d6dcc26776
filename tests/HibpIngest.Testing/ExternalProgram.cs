namespace HibpIngest.Testing;

/// <summary>Runs programs that aren't ours: scripts, sort, load generators.</summary>
internal static class ExternalProgram
{
    public static async Task<(string Output, string Error)> RunAsync(string name, params string[] arguments)
    {
        using var process = Start(name, arguments);
        var reading = process.StandardError.ReadToEndAsync();
        var output = await process.StandardOutput.ReadToEndAsync();
        var error = await reading;
        await process.WaitForExitAsync();
        return process.ExitCode == 0 ? (output, error)
            : throw new InvalidOperationException($"{name} {string.Join(' ', arguments)}: exit code {process.ExitCode}: {output}{error}");
    }

    public static Task<(string Output, string Error)> RunScriptAsync(string script, params string[] arguments) =>
        RunAsync("node", OfScript(script, arguments));

    public static Process StartScript(string script, params string[] arguments) => Start("node", OfScript(script, arguments));

    /// <summary>Sorts a file's lines by bytes, as <c>sort</c> does with this much memory; returns the seconds.</summary>
    public static async Task<double> SortAsync(string file, string sorted, int memoryMiB)
    {
        var began = Stopwatch.GetTimestamp();
        await RunAsync(
            "env", "LC_ALL=C", "sort", "-S", $"{memoryMiB}M", "-T", Path.GetDirectoryName(sorted)!, "-o", sorted, file);
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        File.Delete(sorted);
        return seconds;
    }

    private static string[] OfScript(string script, string[] arguments) =>
        ["--max-old-space-size=4096", RepositoryFile.Path(script), .. arguments];

    private static Process Start(string name, string[] arguments) => Process.Start(TestProcess.StartOf(name, arguments))!;
}
