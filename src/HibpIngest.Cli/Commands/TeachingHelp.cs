using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace HibpIngest.Cli.Commands;

/// <summary>The standard help, then examples. The root's help groups the commands by purpose, and lists variables and exit codes.</summary>
internal sealed class TeachingHelp(HelpAction standard, IReadOnlyList<(string Title, IReadOnlyList<Command> Commands)> groups)
    : SynchronousCommandLineAction
{
    internal static readonly (string Name, string Meaning)[] Variables =
    [
        ("HIBP_STORAGE", "connection string of the storage account (UseDevelopmentStorage=true: the local emulator)"),
        ("HIBP_HOME", "folder of database, mails and the emulator's data (.hibp in the repository, else the platform's data folder)"),
        ("HIBP_DATABASE", "SQLite file, or connection string (hibp.db in HIBP_HOME)"),
        ("HIBP_MAIL", "pickup:DIR (mail in HIBP_HOME) or smtp://user:password@host:port?tls=none|starttls|implicit"),
        ("HIBP_MAIL_FROM", "sender of the mails (notifications@localhost)"),
        ("HIBP_WEB_URL", "base address of links (http://127.0.0.1:8080)"),
        ("HIBP_SUPPRESSION_KEY", "base64 of 32 bytes: the key under which suppressed addresses are hashed; must never change"),
        ("HIBP_SECRET_KEY", "base64 of 32 bytes that encrypts archive passwords and clients' secrets; create it with: openssl rand -base64 "
            + "32"),
        ("HIBP_BATCHROWS", "rows copied into SQL in one transaction (20000)"),
        ("HIBP_SLICEROWS", "rows upserted by one message (10000)"),
        ("HIBP_MAILSPERSECOND", "mails a second, of all hosts together (10)"),
        ("HIBP_LIMITS__MAXENTRIES", "maximum number of entries in an archive (1000000); also MAXNESTING, MAXINFLATEDBYTES, "
            + "MAXINFLATIONRATIO"),
        ("HIBP_EMULATOR_PORT", "first of the emulator's three ports (10000)"),
        ("HIBP_EMULATOR_DIR", "installation folder of the emulator (hibp in the user's cache folder)"),
    ];

    private const string CommandsHeading = "Commands:";

    public override int Invoke(ParseResult parseResult)
    {
        var output = parseResult.InvocationConfiguration.Output;
        var command = parseResult.CommandResult.Command;
        var result = command is RootCommand ? InvokeGrouped(parseResult, output) : standard.Invoke(parseResult);
        var examples = Examples(command);
        if (examples.Count > 0)
        {
            output.WriteLine("Examples:");
            foreach (var (line, purpose) in examples)
            {
                output.WriteLine($"  {line}");
                output.WriteLine($"      {purpose}");
            }
            output.WriteLine();
        }
        if (command is RootCommand)
        {
            output.WriteLine("Environment variables, with their defaults (docs/settings.md lists all settings):");
            foreach (var (name, meaning) in Variables)
                output.WriteLine($"  {name,-24} {meaning}");
            output.WriteLine();
            output.WriteLine("Exit codes: 0 success, 1 failure, 2 invalid command line, 130 or 143 stopped by a signal, 141 the reader of "
                + "the output is gone.");
        }
        return result;
    }

    private int InvokeGrouped(ParseResult parsed, TextWriter output)
    {
        using var written = new StringWriter();
        parsed.InvocationConfiguration.Output = written;
        int result;
        try
        {
            result = standard.Invoke(parsed);
        }
        finally
        {
            parsed.InvocationConfiguration.Output = output;
        }
        var lines = written.ToString().ReplaceLineEndings("\n").Split('\n');
        var heading = Array.IndexOf(lines, CommandsHeading);
        var end = Array.FindIndex(lines, heading, line => line.Length == 0);
        // The continuation lines of a command's description are indented further.
        var entries = new Dictionary<string, List<string>>();
        List<string> entry = [];
        foreach (var line in lines[(heading + 1)..end])
        {
            if (line.Length > 2 && line[2] != ' ')
                entries[line.Trim().Split(' ')[0]] = entry = [];
            entry.Add(line);
        }
        foreach (var line in lines[..heading])
            output.WriteLine(line);
        foreach (var (title, commands) in groups)
        {
            output.WriteLine($"{title}:");
            foreach (var line in commands.SelectMany(command => entries[command.Name]))
                output.WriteLine(line);
            output.WriteLine();
        }
        foreach (var line in lines[(end + 1)..].SkipLast(1))
            output.WriteLine(line);
        return result;
    }

    private static IReadOnlyList<(string Line, string Purpose)> Examples(Command command) => command switch
    {
        HibpCommand one => one.Examples,
        RootCommand =>
        [
            ("hibp demo", "runs the whole pipeline on a small breach; needs only Node"),
            ("hibp run", "starts the pipeline with the storage emulator; Ctrl+C stops it"),
            ("hibp drop Adobe.zip --wait", "in another terminal: loads a breach, and waits for its end"),
            ("hibp lookup somebody@example.com", "shows which breaches an address is in"),
        ],
        _ => [.. command.Subcommands.OfType<HibpCommand>().SelectMany(below => below.Examples)],
    };
}
