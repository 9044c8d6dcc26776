using System.Collections;
using System.Net.Sockets;

namespace HibpIngest.Testing;

internal static class TestProcess
{
    /// <summary>Returns whether an inherited variable would change how one of our programs runs.</summary>
    public static bool IsOurs(string variable) =>
        (variable.StartsWith("HIBP_", StringComparison.OrdinalIgnoreCase) && variable != "HIBP_EMULATOR_DIR")
        || variable.StartsWith("OTEL_", StringComparison.Ordinal) || variable.StartsWith("APPLICATIONINSIGHTS_", StringComparison.Ordinal)
        || variable.StartsWith("AzureWebJobs", StringComparison.OrdinalIgnoreCase)
        || variable.StartsWith("BreachStorage", StringComparison.OrdinalIgnoreCase);

    /// <summary>Replaces our inherited variables by these, and sets the home to a folder below this one.</summary>
    public static void SetVariables(this ProcessStartInfo start, string folder, IReadOnlyDictionary<string, string> variables)
    {
        foreach (var name in Environment.GetEnvironmentVariables()
            .Cast<DictionaryEntry>().Select(variable => (string)variable.Key).Where(IsOurs).ToList())
            start.Environment.Remove(name);
        start.Environment[HomeFolder.Variable] = HomeIn(folder);
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
    }

    /// <summary>Returns how to start a program whose output is read.</summary>
    public static ProcessStartInfo StartOf(string program, IEnumerable<string> arguments) => new(program, arguments)
    {
        UseShellExecute = false,
        RedirectStandardOutput = true,
        RedirectStandardError = true,
    };

    /// <summary>Runs a program to its end.</summary>
    public static async Task<HibpResult> RunToEndAsync(this ProcessStartInfo start, string input = "")
    {
        (start.RedirectStandardInput, start.RedirectStandardOutput, start.RedirectStandardError) = (true, true, true);
        using var process = Process.Start(start)!;
        try
        {
            var (output, error) = (process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
            await process.StandardInput.WriteAsync(input).WaitAsync(HibpProcess.TestTimeout);
            process.StandardInput.Close(); // a program that asks for more fails
            await process.WaitForExitAsync().WaitAsync(HibpProcess.TestTimeout);
            return new HibpResult(process.ExitCode, await output, await error);
        }
        finally
        {
            process.Kill(entireProcessTree: true);
        }
    }

    public static string HomeIn(string folder) => Path.Combine(folder, ".hibp");

    public static Task TerminateAsync(this Process process) => process.SignalAsync("TERM");

    /// <param name="signal">TERM, STOP, CONT...</param>
    public static async Task SignalAsync(this Process process, string signal)
    {
        using var kill = Process.Start("kill", [$"-{signal}", process.Id.ToString(CultureInfo.InvariantCulture)]);
        await kill.WaitForExitAsync();
    }

    public static int FreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }
}
