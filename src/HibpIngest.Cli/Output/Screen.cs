using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

/// <summary>
/// The output of a command: results to standard output, everything else to standard error. With <c>--json</c> the result is exactly one
/// JSON document. Everything else is stripped of terminal control characters (<see cref="TerminalText"/>).
/// </summary>
internal sealed class Screen
{
    // Wide enough for every table: a file or a pipe has no width, and wrapped cells are hard to search.
    private const int WidthOfAFile = 250;

    private readonly Lock _writing = new();

    public Screen(bool json, CommandEnvironment environment)
        : this(json, Create(environment.Output), Create(environment.Error))
    {
    }

    internal Screen(bool json, IAnsiConsole results, IAnsiConsole messages)
    {
        Json = json;
        Results = CleanedOutput.Attach(results);
        Messages = ReferenceEquals(results, messages) ? Results : CleanedOutput.Attach(messages);
    }

    public bool Json { get; }

    public bool HasDocument { get; private set; }

    public IAnsiConsole Results { get; }

    public IAnsiConsole Messages { get; }

    public JsonLines? Lines { get; set; }

    public bool IsLive => Lines is null && Messages.Profile.Out.IsTerminal && Messages.Profile.Capabilities.Ansi;

    public void Say(string line) => Write(Lines?.Message(line) ?? line);

    public void Write(string line)
    {
        lock (_writing)
        {
            // Bypasses the console's layout if there is no terminal: it would wrap.
            if (Messages.Profile.Out.IsTerminal)
                Messages.Write(new Text(line + Environment.NewLine));
            else
                Messages.Profile.Out.Writer.WriteLine(TerminalText.Clean(line));
        }
    }

    public void Ask(string question)
    {
        lock (_writing)
            Messages.Profile.Out.Writer.Write(TerminalText.Clean(question));
    }

    public void Show(IRenderable result) => Results.Write(result);

    public void Show(FittingTable table, string ifEmpty)
    {
        if (table.HasRows)
            Show(table);
        else
            Show(ifEmpty);
    }

    public void Show(string line) => Results.Profile.Out.Writer.WriteLine(TerminalText.Clean(line));

    public void ShowJson<T>(T document)
    {
        HasDocument = true;
        Results.Profile.Out.Writer.WriteLine(JsonSerializer.Serialize(document, Documents.Options));
    }

    public bool TryShowJson<T>(Func<T> document)
    {
        if (Json)
            ShowJson(document());
        return Json;
    }

    public void ShowResult<T>(T document, string line)
    {
        if (Json)
            ShowJson(document);
        else
            Show(line);
    }

    public void ShowError(string message, int exitCode)
    {
        if (!HasDocument)
            ShowJson(new ErrorDocument(new ErrorLine(message, exitCode)));
    }

    internal static IAnsiConsole Create(TextWriter writer)
    {
        var output = new AnsiConsoleOutput(writer);
        if (output.IsTerminal)
            return AnsiConsole.Create(new AnsiConsoleSettings { Out = output });
        // Spectre's detection checks only the environment, and would write escape sequences into files.
        var file = AnsiConsole.Create(
            new AnsiConsoleSettings { Out = output, Ansi = AnsiSupport.No, ColorSystem = ColorSystemSupport.NoColors });
        file.Profile.Width = WidthOfAFile;
        return file;
    }
}
