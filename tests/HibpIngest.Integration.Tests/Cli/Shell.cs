using System.Diagnostics;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Programs of the system, for what .NET doesn't tell or set: owners of files.</summary>
internal static class Shell
{
    /// <summary>Runs one to its end, which must be a good one, and returns its output.</summary>
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
