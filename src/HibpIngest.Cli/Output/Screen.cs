using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using Spectre.Console;
using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Where output goes: results to standard output, everything else to standard error. With <c>--json</c> the
/// result is exactly one JSON document. Everything else is cleaned of what a terminal would obey (<see cref="TerminalText"/>).
/// </summary>
internal sealed class Screen
{
    // Wide enough for any table of ours: a file or a pipe has no width, and wrapped cells are hard to search.
    private const int WidthOfAFile = 250;

    private static readonly JsonWriterOptions Indented = new() { Indented = true };

    private readonly Lock _saying = new();

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

    /// <summary>The result is to be one JSON document.</summary>
    public bool Json { get; }

    public bool HasDocument { get; private set; }

    public IAnsiConsole Results { get; }

    public IAnsiConsole Messages { get; }

    /// <summary>Writes what is said as JSON; null: it is said as it is.</summary>
    public JsonLines? Lines { get; set; }

    /// <summary>Whether a person watches the messages as they come.</summary>
    public bool IsLive => Lines is null && Messages.Profile.Out.IsTerminal && Messages.Profile.Capabilities.Ansi;

    /// <summary>One line for a person, on standard error.</summary>
    public void Say(string line) => Write(Lines?.Said(line) ?? line);

    /// <summary>The same for what is a line already, of whatever format.</summary>
    public void Write(string line)
    {
        lock (_saying)
        {
            // Not through the terminal's layout where there is none: it would wrap.
            if (Messages.Profile.Out.IsTerminal)
                Messages.Write(new Text(line + Environment.NewLine));
            else
                Messages.Profile.Out.Writer.WriteLine(TerminalText.Clean(line));
        }
    }

    /// <summary>A question on standard error, whose answer follows on its line.</summary>
    public void Ask(string question)
    {
        lock (_saying)
            Messages.Profile.Out.Writer.Write(TerminalText.Clean(question));
    }

    /// <summary>The result as a table, or another thing to look at.</summary>
    public void Show(IRenderable result) => Results.Write(result);

    public void Show(string line) => Results.Profile.Out.Writer.WriteLine(TerminalText.Clean(line));

    public void ShowJson<T>(T document, JsonTypeInfo<T> type)
    {
        HasDocument = true;
        using var bytes = new MemoryStream();
        using (var writer = new Utf8JsonWriter(bytes, Indented))
            JsonSerializer.Serialize(writer, document, type);
        Results.Profile.Out.Writer.WriteLine(Encoding.UTF8.GetString(bytes.GetBuffer(), 0, (int)bytes.Length));
    }

    /// <summary>Writes the document with <c>--json</c>, and the line without.</summary>
    public void ShowResult<T>(T document, JsonTypeInfo<T> type, string line)
    {
        if (Json)
            ShowJson(document, type);
        else
            Show(line);
    }

    /// <summary>Of a command that failed: its document, where it has none yet.</summary>
    public void ShowError(string message, int exitCode)
    {
        if (!HasDocument)
            ShowJson(new ErrorDocument(new ErrorLine(message, exitCode)), Documents.Default.ErrorDocument);
    }

    internal static IAnsiConsole Create(TextWriter writer)
    {
        var output = new AnsiConsoleOutput(writer);
        if (output.IsTerminal)
            return AnsiConsole.Create(new AnsiConsoleSettings { Out = output });
        // Its own detection looks at the environment only, and would write escapes into files.
        var file = AnsiConsole.Create(
            new AnsiConsoleSettings { Out = output, Ansi = AnsiSupport.No, ColorSystem = ColorSystemSupport.NoColors });
        file.Profile.Width = WidthOfAFile;
        return file;
    }
}
