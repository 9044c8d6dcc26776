using System.Collections;
using HibpIngest.Cli;
using HibpIngest.Cli.Output;

namespace HibpIngest.Testing;

/// <summary>
/// Runs <c>hibp</c> command lines in the test's own process, because starting one costs a second of CPU. Tests of
/// signals, terminals, pipes, permissions of new files and the current folder use <see cref="HibpProcess"/>. Paths in
/// the arguments must be absolute.
/// </summary>
public static class HibpInProcess
{
    static HibpInProcess() => UnixFiles.CreatePrivately(); // as the program does first

    public static Task<HibpResult> RunAsync(string folder, IReadOnlyDictionary<string, string> variables, params string[] arguments) =>
        RunWithInputAsync(folder, variables, input: "", arguments);

    public static async Task<HibpResult> RunWithInputAsync(
        string folder, IReadOnlyDictionary<string, string> variables, string input, params string[] arguments)
    {
        using var timeout = new CancellationTokenSource(HibpProcess.TestTimeout);
        using var error = new StringWriter();
        var (exitCode, output) = await RunAsync(folder, variables, input, error, arguments, timeout.Token);
        return new HibpResult(exitCode, output, error.ToString());
    }

    /// <summary>Sets up the stores by starting and stopping a host.</summary>
    public static async Task SetUpAsync(string folder, IReadOnlyDictionary<string, string> variables)
    {
        using var stop = new CancellationTokenSource(HibpProcess.TestTimeout);
        using var error = new WatchedWriter("ready", stop);
        var ended = await Record.ExceptionAsync(() => RunAsync(folder, variables, input: "", error, ["run"], stop.Token));
        Assert.True(error.HasFound && ended is OperationCanceledException, $"the host was never ready: {error} {ended}");
    }

    private static async Task<(int ExitCode, string Output)> RunAsync(
        string folder, IReadOnlyDictionary<string, string> variables, string input, TextWriter error, string[] arguments,
        CancellationToken cancellationToken)
    {
        var all = new Hashtable();
        foreach (DictionaryEntry inherited in Environment.GetEnvironmentVariables())
        {
            if (!TestProcess.IsOurs((string)inherited.Key))
                all[inherited.Key] = inherited.Value;
        }
        all[HomeFolder.Variable] = TestProcess.HomeIn(folder);
        foreach (var (name, value) in variables)
            all[name] = value;
        using var output = new MemoryStream();
        var environment = CommandEnvironment.Redirected(all, new MemoryStream(Encoding.UTF8.GetBytes(input)), output, error);
        // A command may block its thread.
        var exitCode = await Task.Run(() => Program.RunAsync(arguments, environment, cancellationToken), CancellationToken.None);
        return (exitCode, Encoding.UTF8.GetString(output.ToArray()));
    }

    /// <summary>Cancels when a line contains the text.</summary>
    private sealed class WatchedWriter(string waitFor, CancellationTokenSource found) : StringWriter
    {
        public bool HasFound { get; private set; }

        public override void WriteLine(string? value)
        {
            base.WriteLine(value);
            if (HasFound || value?.Contains(waitFor, StringComparison.Ordinal) != true)
                return;
            HasFound = true;
            // Not on the writing thread, which holds the writer's lock.
            _ = found.CancelAsync();
        }
    }
}
