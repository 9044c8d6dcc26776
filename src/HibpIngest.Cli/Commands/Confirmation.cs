using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Cli.Commands;

/// <summary>
/// Asks for confirmation before an irreversible command: the name of the affected object must be typed. Without a terminal, <c>--yes</c> is
/// required: an unanswered question is never taken as consent.
/// </summary>
internal sealed class Confirmation
{
    public Option<bool> Yes { get; } = new("--yes") { Description = "Skip the confirmation. Required without a terminal." };

    /// <summary>Checks that the user can be asked. Must be called before anything else is done.</summary>
    public void RequireAnswerable(ParseResult parsed, string command)
    {
        if (!parsed.GetValue(Yes) && !CommandEnvironment.Of(parsed).CanAsk)
        {
            throw new WrongUsageException(
                $"confirmation needs a terminal for input and messages; to run '{command}' without one, add --yes");
        }
    }

    public async Task AskAsync(CommandSession session, string consequence, string name, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(Yes))
            return;
        session.Screen.Ask($"{consequence} Type its name to continue: ");
        // A terminal read can't be cancelled: if the command is stopped, the thread stays until the process ends.
        var reading = Task.Run(ReadLine, CancellationToken.None);
        if (await Task.WhenAny(reading, Task.Delay(Timeout.Infinite, cancellationToken)) != reading)
            session.Screen.Ask(Environment.NewLine); // so that the next output begins a new line
        var typed = await reading.WaitAsync(cancellationToken);
        if (typed?.Trim() != name)
            throw new NotPossibleException($"nothing was done: expected {name} to be typed exactly as shown");
    }

    /// <summary>
    /// Reads a line from the terminal. Not Console.In: it does its own line editing, and loses an end of input that was typed before that
    /// began.
    /// </summary>
    private static string? ReadLine()
    {
        if (OperatingSystem.IsWindows())
            return Console.In.ReadLine();
        using var handle = new SafeFileHandle(0, ownsHandle: false);
        using var input = new StreamReader(new FileStream(handle, FileAccess.Read, bufferSize: 0), Console.InputEncoding);
        return input.ReadLine();
    }
}
