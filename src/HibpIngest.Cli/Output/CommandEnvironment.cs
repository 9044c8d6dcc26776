using System.Collections;

namespace HibpIngest.Cli.Output;

internal sealed class CommandEnvironment : InvocationConfiguration
{
    // Opened on first use: Console.In changes the terminal's mode.
    private readonly Lazy<TextReader> _input;

    private CommandEnvironment(Func<TextReader> openInput)
    {
        _input = new Lazy<TextReader>(openInput);
        (EnableDefaultExceptionHandler, ProcessTerminationTimeout) = (false, null);
    }

    /// <summary>Standard input as text. A command reads this or <see cref="OpenInput"/>, not both.</summary>
    public TextReader Input => _input.Value;

    public required Func<Stream> OpenInput { get; init; }

    /// <summary>Opens standard output as bytes; text goes to <see cref="InvocationConfiguration.Output"/>.</summary>
    public required Func<Stream> OpenOutput { get; init; }

    public required IDictionary Variables { get; init; }

    /// <summary>Whether a person reads standard error and answers on standard input. Questions go to standard error.</summary>
    public bool CanAsk { get; private init; }

    /// <summary>Returns whether standard output is a pipe whose reader is gone.</summary>
    public Func<bool> IsOutputAbandoned { get; private init; } = () => false;

    public static CommandEnvironment OfProcess() => new(() => Console.In)
    {
        OpenInput = Console.OpenStandardInput,
        OpenOutput = Console.OpenStandardOutput,
        Output = Console.Out,
        Error = Console.Error,
        Variables = Environment.GetEnvironmentVariables(),
        CanAsk = !Console.IsInputRedirected && !Console.IsErrorRedirected,
        IsOutputAbandoned = () => OutputPipe.IsAbandoned,
    };

    /// <summary>Returns an environment without a terminal.</summary>
    /// <param name="output">Standard output; text is written to it in UTF-8.</param>
    public static CommandEnvironment Redirected(IDictionary variables, Stream input, Stream output, TextWriter error) =>
        new(() => new StreamReader(input))
        {
            OpenInput = () => input,
            OpenOutput = () => output,
            Output = TextWriter.Synchronized(new StreamWriter(output) { AutoFlush = true }),
            Error = TextWriter.Synchronized(error),
            Variables = variables,
        };

    public static CommandEnvironment Of(ParseResult parsed) => (CommandEnvironment)parsed.InvocationConfiguration;
}
