using System.CommandLine;
using System.CommandLine.Help;
using HibpIngest.Cli.Commands;

namespace HibpIngest.Tests.Documents;

/// <summary>Generates the page of all commands from the command tree.</summary>
internal static class CliPage
{
    public const string Path = "docs/cli.md";

    private const string Head = """
        # The command line

        Every command with its options and examples, as `--help` shows them. This page is generated:
        `HIBP_GOLDEN=write dotnet test tests/HibpIngest.Tests -c Release --filter CliPageTests` updates it.

        Results go to standard output, everything else to standard error; with `--json` a result is one JSON
        document, whose schema `hibp schema` prints ([JSON of the command line](json.md)). Exit codes: 0
        success, 1 failure, 2 invalid command line, 130 or 143 stopped by a signal, 141 the output pipe
        was closed.


        """;

    public static string Make()
    {
        var page = new StringBuilder(Head);
        var root = CommandTree.Create();
        page.Append("## Options of every command\n\n");
        AddOptions(page, root.Options.Where(option => option.Recursive && option is not HelpOption));
        foreach (var command in root.Subcommands.Where(command => !command.Hidden))
            Add(page, "hibp", command);
        page.Append("## Old spellings\n\n")
            .Append("Commands were renamed to a noun and a verb. The old spellings still work, with the same options and results.\n\n")
            .Append("| old | now |\n| --- | --- |\n");
        foreach (var (old, command) in CommandTree.OldSpellings)
            page.Append($"| `hibp {old}` | `hibp {command}` |\n");
        return page.ToString();
    }

    private static void Add(StringBuilder page, string parent, Command command)
    {
        var path = $"{parent} {command.Name}";
        page.Append($"## {path}\n\n{Wrap(command.Description!)}\n\n");
        if (command.Subcommands.Count == 0)
        {
            page.Append("```text\n").Append(path);
            foreach (var argument in command.Arguments)
                page.Append(' ').Append(argument.Arity.MinimumNumberOfValues == 0 ? $"[{argument.Name}]" : argument.Name)
                    .Append(argument.Arity.MaximumNumberOfValues > 1 ? "..." : "");
            if (command.Options.Any(option => option is not HelpOption))
                page.Append(" [OPTIONS]");
            page.Append("\n```\n\n");
            if (command.Arguments.Count > 0)
            {
                foreach (var argument in command.Arguments)
                    page.Append(Wrap($"- `{argument.Name}`: {argument.Description}", "  ")).Append('\n');
                page.Append('\n');
            }
            AddOptions(page, command.Options.Where(option => option is not HelpOption));
            page.Append("```text\n");
            var width = ((HibpCommand)command).Examples.Max(example => example.Line.Length);
            foreach (var (line, purpose) in ((HibpCommand)command).Examples)
                page.Append(line).Append(width <= 60 ? new string(' ', width - line.Length) : "").Append($"   # {purpose}\n");
            page.Append("```\n\n");
        }
        foreach (var child in command.Subcommands.Where(child => !child.Hidden))
            Add(page, path, child);
    }

    private static void AddOptions(StringBuilder page, IEnumerable<Option> options)
    {
        var rows = options.Where(option => !option.Hidden).ToList();
        if (rows.Count == 0)
            return;
        page.Append("| option | what it does |\n| --- | --- |\n");
        foreach (var option in rows)
        {
            var value = option.HelpName is { } name ? $" {name}" : "";
            var required = option.Required ? ", required" : "";
            page.Append($"| `{option.Name}{Escape(value)}`{required} | {Escape(option.Description!)} |\n");
        }
        page.Append('\n');
    }

    /// <summary>Wraps like the prose in documents, so that diffs are readable line by line.</summary>
    private static string Wrap(string text, string indent = "")
    {
        const int Width = 100;
        var words = Escape(text).Split(' ');
        var lines = new List<string> { words[0] };
        foreach (var word in words[1..])
        {
            if (lines[^1].Length + 1 + word.Length > Width)
                lines.Add(indent + word);
            else
                lines[^1] += $" {word}";
        }
        return string.Join('\n', lines);
    }

    private static string Escape(string text) =>
        text.Replace("|", "\\|", StringComparison.Ordinal).Replace("<", "&lt;", StringComparison.Ordinal);
}
