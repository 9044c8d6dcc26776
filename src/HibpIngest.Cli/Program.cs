using System.CommandLine;
using HibpIngest.Cli.Commands;
using HibpIngest.Errors;

namespace HibpIngest.Cli;

/// <summary>
/// The command <c>hibp</c>: parses, runs one command, and turns whatever happens into an exit code and one
/// clear line.
/// </summary>
internal static class Program
{
    private const int Failed = 1;
    private const int WrongUsage = 2;

    private static async Task<int> Main(string[] args)
    {
        var root = CommandTree.Create();
        var parsed = root.Parse(args);
        // Asking for help always gets it; a group without a command gets it too, as an error.
        if (parsed.Errors.Count > 0 && parsed.Action is not TeachingHelp)
            return ExplainUsage(parsed);

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
            Console.Error.WriteLine($"error: {e.Message}");
            Console.Error.WriteLine($"see: {PathOf(parsed)} --help");
            return WrongUsage;
        }
        catch (Exception e)
        {
            Explain(e, parsed.GetValue(CommonOptions.Verbose));
            return Failed;
        }
    }

    private static void Explain(Exception e, bool verbose)
    {
        var reason = e switch
        {
            HibpException or IOException or UnauthorizedAccessException => e.Message,
            // Its message could repeat what it was given, an address among it.
            _ => $"unexpected {e.GetType().Name}; --verbose shows where",
        };
        Console.Error.WriteLine($"error: {reason.ReplaceLineEndings(" ")}");
        if (verbose)
            Console.Error.WriteLine(UnexpectedError.Describe(e));
    }

    private static int ExplainUsage(ParseResult parsed)
    {
        var command = parsed.CommandResult.Command;
        var path = PathOf(parsed);
        foreach (var error in parsed.Errors)
            Console.Error.WriteLine($"error: {error.Message.ReplaceLineEndings(" ")}");
        if (command.Subcommands.Count > 0)
            Console.Error.WriteLine($"commands: {string.Join(", ", command.Subcommands.Select(below => below.Name))}");
        Console.Error.WriteLine($"see: {path} --help");
        return WrongUsage;
    }

    private static string PathOf(ParseResult parsed)
    {
        var names = new List<string>();
        for (var result = parsed.CommandResult; result is not null; result = result.Parent as System.CommandLine.Parsing.CommandResult)
            names.Insert(0, result.Command is RootCommand ? "hibp" : result.Command.Name);
        return string.Join(' ', names);
    }
}
