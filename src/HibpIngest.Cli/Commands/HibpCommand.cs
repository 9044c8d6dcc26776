using System.CommandLine.Parsing;

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
                using var session = new CommandSession(parsed, screen, IsHost);
                await RunAsync(session, cancellationToken);
                return ExitCode;
            }
            catch (Exception e) when (screen.Json && e is not OperationCanceledException)
            {
                screen.ShowError(Failure.Message(e), Failure.ExitCode(e));
                throw;
            }
        });
    }

    public IReadOnlyList<(string Line, string Purpose)> Examples { get; private set; } = [];

    /// <summary>True if the command is a host: its telemetry is exported as the environment configures it.</summary>
    protected virtual bool IsHost => false;

    protected int ExitCode { get; set; }

    protected abstract Task RunAsync(CommandSession session, CancellationToken cancellationToken);

    protected static Argument<string> NewBreachArgument() => new("BREACH") { Description = "Name of the breach." };

    protected void Add(params IEnumerable<Symbol> symbols)
    {
        foreach (var symbol in symbols)
        {
            if (symbol is Argument argument)
                Arguments.Add(argument);
            else
                Options.Add((Option)symbol);
        }
    }

    protected void AddExamples(params IReadOnlyList<(string Line, string Purpose)> examples) => Examples = examples;

    protected void RequireOneOf(params Symbol[] symbols) => Validators.Add(result =>
    {
        if (symbols.Count(symbol => IsGiven(result, symbol)) != 1)
            result.AddError($"give exactly one of {string.Join(", ", symbols.Select(symbol => symbol.Name))}");
    });

    protected static void RequireRange(Option option, long min, long max) => option.Validators.Add(result =>
    {
        if (result.Tokens is [var token] && long.TryParse(token.Value, out var value) && (value < min || value > max))
            result.AddError($"{option.Name} takes {min} to {max}");
    });

    protected static bool IsGiven(SymbolResult result, Symbol symbol) =>
        symbol is Option option
        ? result.GetResult(option) is { Implicit: false } : result.GetResult((Argument)symbol) is { Tokens.Count: > 0 };

    protected static Task<Breach> GetBreachAsync(IServiceProvider services, string name, CancellationToken cancellationToken) =>
        GetBreachAsync(services.GetRequiredService<ICatalogue>(), name, cancellationToken);

    protected static async Task<Breach> GetBreachAsync(ICatalogue catalogue, string name, CancellationToken cancellationToken) =>
        await catalogue.GetBreachAsync(name, cancellationToken)
        ?? throw new NotPossibleException($"there is no breach '{name}'; 'hibp breach list' lists them all");

    protected static async Task<string?> GetPasswordAsync(
        CommandSession session, Option<string?> password, Option<bool> fromInput, CancellationToken cancellationToken)
    {
        var value = session.Parsed.GetValue(fromInput)
            ? await session.Environment.Input.ReadLineAsync(cancellationToken) ?? "" : session.Parsed.GetValue(password);
        return value is not "" ? value : throw new BadInputException(
            "the password is empty: pass one by --password, or as the first line of standard input with --password-stdin");
    }
}

/// <summary>A noun whose commands are verbs.</summary>
internal sealed class CommandGroup : Command
{
    public CommandGroup(string name, string description, params ReadOnlySpan<HibpCommand> commands)
        : base(name, description)
    {
        foreach (var command in commands)
            Add(command);
    }
}
