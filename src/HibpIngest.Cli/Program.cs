using HibpIngest.Cli.Commands;

namespace HibpIngest.Cli;

internal static class Program
{
    private static async Task<int> Main(string[] args)
    {
        // Nearly every file written contains addresses: database, emulator's data, mails, exports, backups.
        UnixFiles.CreatePrivately();
        using var signals = new StopSignals();
        try
        {
            return await RunAsync(args, CommandEnvironment.OfProcess(), signals.Token);
        }
        catch (OperationCanceledException) when (signals.Token.IsCancellationRequested)
        {
            return signals.ExitCode;
        }
    }

    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    internal static async Task<int> RunAsync(string[] args, CommandEnvironment environment, CancellationToken cancellationToken)
    {
        var root = CommandTree.Create();
        var parsed = root.Parse(args.Length == 0 ? ["--help"] : args);
        // A request for help always succeeds; a group without a command shows the help too, as an error.
        if (parsed.Action is not TeachingHelp && UsageErrors.Of(parsed) is { Count: > 0 } errors)
            return ExplainUsage(parsed, environment, errors);

        try
        {
            return await parsed.InvokeAsync(environment, cancellationToken);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            throw;
        }
        catch (WrongUsageException e)
        {
            environment.Error.WriteLine(TerminalText.Clean($"error: {e.Message}"));
            environment.Error.WriteLine($"see: {UsageErrors.PathOf(parsed)} --help");
            return Failure.WrongUsage;
        }
        catch (Exception e)
        {
            Explain(e, environment, parsed.GetValue(CommonOptions.Verbose));
            return Failure.Failed;
        }
    }

    private static void Explain(Exception e, CommandEnvironment environment, bool verbose)
    {
        foreach (var message in e is WrongSettingsException settings ? settings.Messages : [Failure.Message(e)])
            environment.Error.WriteLine(TerminalText.Clean($"error: {message}"));
        if (verbose)
            environment.Error.WriteLine(TerminalText.Clean(UnexpectedError.Describe(e)));
    }

    private static int ExplainUsage(ParseResult parsed, CommandEnvironment environment, IReadOnlyList<string> errors)
    {
        var command = parsed.CommandResult.Command;
        if (parsed.GetResult(CommonOptions.Json) is { Implicit: false })
            new Screen(json: true, environment).ShowError(string.Join("; ", errors), Failure.WrongUsage);
        foreach (var error in errors)
            environment.Error.WriteLine(TerminalText.Clean($"error: {error}"));
        if (command.Subcommands.Count > 0)
        {
            var names = command.Subcommands.Where(below => !below.Hidden).Select(below => below.Name);
            environment.Error.WriteLine($"commands: {string.Join(", ", names)}");
        }
        environment.Error.WriteLine($"see: {UsageErrors.PathOf(parsed)} --help");
        return Failure.WrongUsage;
    }
}
