using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace HibpIngest.Cli.Commands;

/// <summary>The standard help, then examples. The root's help groups the commands by purpose, and lists variables and exit codes.</summary>
internal sealed class TeachingHelp(HelpAction usual) : SynchronousCommandLineAction
{
    private static readonly (string Name, string Meaning)[] Variables =
    [
        ("HIBP_STORAGE", "connection string of the storage account (UseDevelopmentStorage=true: the local emulator)"),
        ("HIBP_HOME", "folder of database, mails and the emulator's data (.hibp in the repository, else the platform's for data)"),
        ("HIBP_DATABASE", "file of the database (hibp.db in HIBP_HOME)"),
        ("HIBP_MAIL", "pickup:DIR (mail in HIBP_HOME) or smtp://user:password@host:port?tls=none|starttls|implicit"),
        ("HIBP_MAIL_FROM", "sender of the mails (notifications@localhost)"),
        ("HIBP_WEB_URL", "where the web is, for links (http://127.0.0.1:8080)"),
        ("HIBP_SUPPRESSION_KEY", "base64 of 32 bytes that those who are not to be told are known by (hibp subscribers); never changed"),
        ("HIBP_SECRET_KEY", "base64 of 32 bytes that seals archive passwords and clients' secrets; make one with: openssl rand -base64 32"),
        ("HIBP_BATCHROWS", "rows copied into SQL in one transaction (20000)"),
        ("HIBP_SLICEROWS", "rows upserted by one message (10000)"),
        ("HIBP_MAILSPERSECOND", "mails a second, for the whole system (10)"),
        ("HIBP_LIMITS__MAXENTRIES", "most entries in an archive (1000000); also MAXNESTING, MAXINFLATEDBYTES, MAXINFLATIONRATIO"),
        ("HIBP_EMULATOR_PORT", "first of the emulator's three ports, where 10000 to 10002 are taken"),
        ("HIBP_EMULATOR_DIR", "folder that the emulator is installed in (hibp in the user's folder for caches)"),
    ];

    /// <summary>The commands by purpose; every command is in one group.</summary>
    internal static readonly (string Title, string[] Commands)[] Groups =
    [
        ("Start here", ["demo", "doctor", "sample", "completion"]),
        ("Run the service", ["run", "serve"]),
        ("Load breaches and look accounts up", ["drop", "status", "lookup", "breaches", "breach", "catalogue"]),
        ("Notify subscribers", ["subscribers", "notify", "hold", "mail"]),
        ("Serve the API's callers", ["keys", "clients", "callbacks", "usage"]),
        ("Repair a load", ["slices", "requeue", "poison", "resume", "purge"]),
        ("Look after the tables", ["ranges", "layouts", "layout", "rebuild", "switch", "log"]),
        ("Look after the database", ["database", "backup", "restore"]),
        ("Pwned Passwords", ["passwords"]),
    ];

    private const string CommandsHeading = "Commands:";

    public override int Invoke(ParseResult parseResult)
    {
        var output = parseResult.InvocationConfiguration.Output;
        var command = parseResult.CommandResult.Command;
        var result = command is RootCommand ? InvokeGrouped(parseResult, output) : usual.Invoke(parseResult);
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
            output.WriteLine("Environment variables (with their defaults; every other setting of docs/settings.md is read the same way):");
            foreach (var (name, meaning) in Variables)
                output.WriteLine($"  {name,-24} {meaning}");
            output.WriteLine();
            output.WriteLine("Exit codes: 0 what was asked for is complete, 1 it failed, 2 the command line is wrong, 130 or 143 it was "
                + "stopped, 141 nobody reads it any more.");
        }
        return result;
    }

    /// <summary>Writes the standard help with its list of commands split into groups.</summary>
    private int InvokeGrouped(ParseResult parsed, TextWriter output)
    {
        using var written = new StringWriter();
        parsed.InvocationConfiguration.Output = written;
        int result;
        try
        {
            result = usual.Invoke(parsed);
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
        foreach (var (title, names) in Groups)
        {
            output.WriteLine($"{title}:");
            foreach (var line in names.SelectMany(name => entries[name]))
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
            ("hibp demo", "see the whole pipeline at work on a small breach; needs nothing but Node"),
            ("hibp run", "start the pipeline here, with the storage emulator; stop it with Ctrl+C"),
            ("hibp drop Adobe.zip --wait", "in another terminal: load a breach, and wait for its end"),
            ("hibp lookup somebody@example.com", "which breaches is an address in?"),
        ],
        _ => [.. command.Subcommands.OfType<HibpCommand>().SelectMany(below => below.Examples)],
    };
}
