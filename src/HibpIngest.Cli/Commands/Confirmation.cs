using System.CommandLine;
using HibpIngest.Errors;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Cli.Commands;

/// <summary>
/// Asks before what can't be undone: the name of what it is about has to be typed. Where nobody can be asked,
/// <c>--yes</c> has to be on the command line: a question that nobody sees is not answered by going on.
/// </summary>
internal sealed class Confirmation
{
    /// <summary>The option that goes without asking, for the command to add.</summary>
    public Option<bool> Yes { get; } = new("--yes")
    {
        Description = "Don't ask. Needed where nobody can be asked: where input or messages are not a terminal's."
    };

    /// <summary>To be called before anything else is done.</summary>
    /// <param name="command">How the message calls it: "breach remove".</param>
    /// <exception cref="WrongUsageException">Nobody can be asked.</exception>
    public void RequireAnswerable(ParseResult parsed, string command)
    {
        if (!parsed.GetValue(Yes) && !CommandEnvironment.Of(parsed).CanAsk)
            throw new WrongUsageException($"nobody can be asked here (input and messages have to be a terminal's): {command} needs --yes");
    }

    /// <summary>Asks, unless <c>--yes</c> is given.</summary>
    /// <param name="consequence">A sentence of what will happen.</param>
    /// <param name="name">What has to be typed, to the letter.</param>
    /// <param name="cancellationToken">Ends the wait for an answer.</param>
    /// <exception cref="NotPossibleException">Something else was typed.</exception>
    public async Task AskAsync(CommandSession session, string consequence, string name, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(Yes))
            return;
        session.Screen.Ask($"{consequence} Type its name to go on: ");
        // A terminal's line can't be waited for otherwise: whoever stops the command leaves the thread behind,
        // and the process ends with it.
        var reading = Task.Run(ReadLine, CancellationToken.None);
        if (await Task.WhenAny(reading, Task.Delay(Timeout.Infinite, cancellationToken)) != reading)
            session.Screen.Ask(Environment.NewLine); // what comes next begins its own line
        var typed = await reading.WaitAsync(cancellationToken);
        if (typed?.Trim() != name)
            throw new NotPossibleException($"nothing was done: {name} was to be typed, as it is written here, and was not");
    }

    /// <summary>
    /// A line as the terminal gives it; null at the end of input. Not Console.In: it edits the line itself, and
    /// loses an end of input that was typed before it began to.
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
