using System.Collections;
using System.Runtime.InteropServices;

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

    public required Func<Stream> OpenOutput { get; init; }

    public required IDictionary Variables { get; init; }

    /// <summary>True if a person reads standard error and answers on standard input. Questions go to standard error.</summary>
    public bool CanAsk { get; private init; }

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

// Writes don't show that a pipe has no reader: the console drops what it can't write, without an error.
internal static class OutputPipe
{
    private const int StandardOutput = 1;

    // Linux reports POLLERR for a pipe without a reader, macOS POLLHUP; both are reported even if not requested.
    private const short ErrorOrHangUp = 0x08 | 0x10;

    /// <summary>Always false on Windows.</summary>
    public static bool IsAbandoned
    {
        get
        {
            if (OperatingSystem.IsWindows() || !Console.IsOutputRedirected)
                return false;
            var output = new PollDescriptor { Descriptor = StandardOutput };
            return Poll(ref output, 1, timeoutMilliseconds: 0) > 0 && (output.Returned & ErrorOrHangUp) != 0;
        }
    }

    [DllImport("libc", EntryPoint = "poll")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Poll(ref PollDescriptor descriptors, nuint count, int timeoutMilliseconds);

    [StructLayout(LayoutKind.Sequential)]
    private struct PollDescriptor
    {
        public int Descriptor;
        public short Events;
        public short Returned;
    }
}
