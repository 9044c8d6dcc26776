using System.Diagnostics;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs system programs for what .NET can't read or set: owners of files.</summary>
internal static class Shell
{
    /// <summary>Runs a program, asserts exit code 0, and returns its output.</summary>
    public static async Task<string> RunAsync(string program, params string[] arguments)
    {
        using var process = Process.Start(
            new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, UseShellExecute = false })!;
        var output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        Assert.Equal(0, process.ExitCode);
        return output.Trim();
    }
}
