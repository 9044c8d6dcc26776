using System.CommandLine;
using System.CommandLine.Parsing;
using HibpIngest.Breaches;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Cli.Commands;

internal abstract class HibpCommand : Command
{
    protected HibpCommand(string name, string description)
        : base(name, description)
    {
        SetAction(async (parsed, cancellationToken) =>
        {
            var screen = new Screen(parsed.GetValue(CommonOptions.Json), CommandEnvironment.Of(parsed));
            try
            {
                using var session = new CommandSession(parsed, screen, IsPipeline);
                return await RunAsync(session, cancellationToken);
            }
            catch (Exception e) when (screen.Json && e is not OperationCanceledException)
            {
                screen.ShowError(Failure.Message(e), Failure.ExitCode(e));
                throw;
            }
        });
    }

    /// <summary>Command lines to learn from, each with what it does.</summary>
    public IReadOnlyList<(string Line, string Purpose)> Examples { get; protected init; } = [];

    /// <summary>Whether it works as the pipeline does, so that its telemetry is sent where the environment asks for it.</summary>
    protected virtual bool IsPipeline => false;

    /// <summary>Returns 0 when what was asked for is complete.</summary>
    protected abstract Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken);

    /// <summary>Makes it a usage error when not exactly one of these is given.</summary>
    protected void RequireOneOf(params Symbol[] symbols) => Validators.Add(result =>
    {
        if (symbols.Count(symbol => IsGiven(result, symbol)) != 1)
            result.AddError($"give exactly one of {string.Join(", ", symbols.Select(symbol => symbol.Name))}");
    });

    protected static bool IsGiven(SymbolResult result, Symbol symbol) =>
        symbol is Option option
        ? result.GetResult(option) is { Implicit: false } : result.GetResult((Argument)symbol) is { Tokens.Count: > 0 };

    /// <exception cref="NotPossibleException">No such breach.</exception>
    protected static async Task<Breach> GetBreachAsync(IBreachDatabase database, string name, CancellationToken cancellationToken) =>
        await database.GetBreachAsync(name, cancellationToken)
        ?? throw new NotPossibleException($"there is no breach '{name}'; hibp breaches lists those there are");

    /// <summary>The password that the options name; null where they name none.</summary>
    /// <exception cref="BadInputException">It is empty.</exception>
    protected static async Task<string?> GetPasswordAsync(
        CommandSession session, Option<string?> password, Option<bool> fromInput, CancellationToken cancellationToken)
    {
        var value = session.Parsed.GetValue(fromInput)
            ? await session.Environment.Input.ReadLineAsync(cancellationToken) ?? "" : session.Parsed.GetValue(password);
        return value is "" ? throw new BadInputException("the password is empty") : value;
    }
}

/// <summary>A command that only has commands below it.</summary>
internal abstract class CommandGroup : Command
{
    protected CommandGroup(string name, string description, params ReadOnlySpan<HibpCommand> commands)
        : base(name, description)
    {
        foreach (var command in commands)
            Add(command);
    }
}
