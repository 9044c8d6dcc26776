using System.CommandLine;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;

namespace HibpIngest.Cli;

/// <summary>
/// The command <c>hibp</c>: parses, runs one command, and turns whatever happens into an exit code and one
/// clear line.
/// </summary>
internal static class Program
{
    private static async Task<int> Main(string[] args)
    {
        // Nearly everything that is written holds addresses: database, emulator's data, mails, exports, backups.
        UnixFiles.CreatePrivately();
        var root = CommandTree.Create();
        var parsed = root.Parse(args.Length == 0 ? ["--help"] : args);
        // Asking for help always gets it; a group without a command gets it too, as an error.
        if (parsed.Action is not TeachingHelp && UsageErrors.Of(parsed) is { Count: > 0 } errors)
            return ExplainUsage(parsed, errors);

        using var signals = new StopSignals();
        try
        {
            return await parsed.InvokeAsync(
                new InvocationConfiguration { EnableDefaultExceptionHandler = false, ProcessTerminationTimeout = null }, signals.Token);
        }
        catch (OperationCanceledException) when (signals.Token.IsCancellationRequested)
        {
            return signals.ExitCode;
        }
        catch (WrongUsageException e)
        {
            Console.Error.WriteLine(TerminalText.Clean($"error: {e.Message}"));
            Console.Error.WriteLine($"see: {UsageErrors.PathOf(parsed)} --help");
            return Failure.WrongUsage;
        }
        catch (Exception e)
        {
            Explain(e, parsed.GetValue(CommonOptions.Verbose));
            return Failure.Failed;
        }
    }

    private static void Explain(Exception e, bool verbose)
    {
        Console.Error.WriteLine(TerminalText.Clean($"error: {Failure.Message(e)}"));
        if (verbose)
            Console.Error.WriteLine(TerminalText.Clean(UnexpectedError.Describe(e)));
    }

    private static int ExplainUsage(ParseResult parsed, IReadOnlyList<string> errors)
    {
        var command = parsed.CommandResult.Command;
        if (parsed.GetResult(CommonOptions.Json) is { Implicit: false })
            new Screen(json: true).ShowError(string.Join("; ", errors), Failure.WrongUsage);
        foreach (var error in errors)
            Console.Error.WriteLine(TerminalText.Clean($"error: {error}"));
        if (command.Subcommands.Count > 0)
            Console.Error.WriteLine($"commands: {string.Join(", ", command.Subcommands.Select(below => below.Name))}");
        Console.Error.WriteLine($"see: {UsageErrors.PathOf(parsed)} --help");
        return Failure.WrongUsage;
    }
}
