using System.CommandLine;
using HibpIngest.Cli.Commands;

namespace HibpIngest.Tests.Cli;

public sealed class UsageTests
{
    [Fact]
    public void Every_command_has_descriptions_and_examples_that_parse()
    {
        var commands = Below(CommandTree.Create()).OfType<HibpCommand>().ToList();
        Assert.Equal(77, commands.Count);
        Assert.All(commands, command =>
        {
            Assert.NotEmpty(command.Examples);
            Assert.All(command.Examples, example =>
            {
                // Every example must parse. (Files in it need not exist; redirections are the shell's.)
                var line = example.Line["hibp ".Length..].Split(" < ")[0].Split(" | ")[0].Split(" >")[0];
                var errors = CommandTree.Create().Parse(line).Errors;
                Assert.All(errors, error => Assert.Contains("File does not exist", error.Message, StringComparison.Ordinal));
            });
            Assert.All(command.Arguments, argument => Assert.False(string.IsNullOrEmpty(argument.Description)));
            Assert.All(command.Options, option => Assert.False(string.IsNullOrEmpty(option.Description)));
        });

        static IEnumerable<Command> Below(Command command) => command.Subcommands.SelectMany(below => Below(below).Prepend(below));
    }

    [Fact]
    public void Help_lists_each_command_once_and_the_getting_started_group_first()
    {
        var groups = CommandTree.CreateGroups();
        Assert.Equal(["demo", "doctor", "run", "drop", "status", "lookup", "serve"], groups[0].Commands.Select(command => command.Name));
        var text = Help("--help");
        Assert.All(groups, group => Assert.Contains($"\n{group.Title}:\n", text, StringComparison.Ordinal));
        foreach (var command in groups.SelectMany(group => group.Commands))
            Assert.Single(text.Split('\n'), line => line.StartsWith($"  {command.Name} ", StringComparison.Ordinal));
        Assert.All(
            CommandTree.OldSpellings.Where(spelling => !spelling.Old.Contains(' ', StringComparison.Ordinal)),
            spelling => Assert.DoesNotContain($"\n  {spelling.Old} ", text, StringComparison.Ordinal));
    }

    public static TheoryData<string, string> OldSpellings => new()
    {
        { "breaches --json", "breach list --json" }, { "--storage x breaches", "--storage x breach list" },
        { "breach show Adobe", "breach unhide Adobe" }, { "breach --json show Adobe", "breach --json unhide Adobe" },
        { "slices Adobe --failed", "load slices Adobe --failed" }, { "requeue Adobe --slice 3", "load requeue Adobe --slice 3" },
        { "requeue Adobe", "load requeue Adobe" }, { "resume 7 --restart --password x", "load resume 7 --restart --password x" },
        { "resume abc", "load resume abc" }, { "purge --older-than 30 --without-log", "database purge --older-than 30 --without-log" },
        { "purge 7 --older-than 30", "database purge 7 --older-than 30" }, { "backup backups/", "database backup backups/" },
        { "restore backups/ --dry-run --yes", "database restore backups/ --dry-run --yes" },
        { "notify Adobe --dry-run", "mail release Adobe --dry-run" }, { "hold Adobe", "mail hold Adobe" },
        { "usage --by key --from 2026-11-01", "access usage --by key --from 2026-11-01" },
        { "usage --by account", "access usage --by account" }, { "layouts", "layout list" },
        { "rebuild --into spread --spread gmail.com=32", "layout rebuild --into spread --spread gmail.com=32" },
        { "rebuild", "layout rebuild" }, { "switch spread --without-ranges", "layout switch spread --without-ranges" },
        { "log list", "journal list" }, { "log write --load 7 --again", "journal write --load 7 --again" },
        { "log write --again", "journal write --again" }, { "log verify --accounts", "journal verify --accounts" },
        { "log repair --all --yes", "journal repair --all --yes" }, { "log export folder", "journal export folder" },
        { "log stats --svg log.svg", "journal stats --svg log.svg" },
        { "log rewrite folder --codec none", "journal rewrite folder --codec none" },
    };

    [Theory]
    [MemberData(nameof(OldSpellings))]
    public void Old_spelling_is_parsed_like_the_new_one(string old, string current)
    {
        var root = CommandTree.Create();
        var (before, after) = (root.Parse(old.Split(' ')), root.Parse(current.Split(' ')));
        Assert.NotNull(after.Action);
        Assert.Equal(after.Errors.Select(error => error.Message), before.Errors.Select(error => error.Message));
        if (after.Errors.Count == 0)
            Assert.Same(after.Action, before.Action);
        Assert.Equal(Values(after), Values(before));

        static IEnumerable<string> Values(ParseResult parsed) => parsed.CommandResult.Command.Options.Cast<Symbol>()
            .Concat(parsed.CommandResult.Command.Arguments)
            .Select(symbol => $"{symbol.Name}: {string.Join(' ', parsed.GetResult(symbol)?.Tokens.Select(token => token.Value) ?? [])}");
    }

    [Fact]
    public void Every_old_spelling_is_tested()
    {
        var tested = OldSpellings.Select(row => (string)row[0]!).ToList();
        var root = CommandTree.Create();
        var log = root.Subcommands.Single(command => command.Name == "log").Subcommands.Select(command => $"log {command.Name}");
        foreach (var old in CommandTree.OldSpellings.Select(spelling => spelling.Old).Where(old => old != "log").Concat(log))
            Assert.Contains(tested, line => line == old || line.StartsWith(old + " ", StringComparison.Ordinal));
    }

    [Fact]
    public void Help_shows_option_values_as_they_are_typed()
    {
        var root = CommandTree.Create();
        foreach (var path in Paths(root, ""))
        {
            Assert.All(
                Help($"{path} --help".Trim()).Split('\n').Where(line => line.Contains('<', StringComparison.Ordinal)),
                line => Assert.DoesNotMatch("<[A-Za-z0-9]*[A-Z][a-z][A-Za-z0-9]*(\\|[A-Za-z0-9]+)+>", line));
        }

        static IEnumerable<string> Paths(Command command, string path) => command.Subcommands
            .SelectMany(below => Paths(below, $"{path} {below.Name}".Trim())).Prepend(path);
    }

    private static string Help(string line)
    {
        var text = new StringWriter();
        CommandTree.Create().Parse(line).Invoke(new InvocationConfiguration { Output = text });
        return text.ToString().ReplaceLineEndings("\n");
    }

    public static TheoryData<string> Invalid =>
    [
        "", "poison", "lookup", "load requeue Adobe", "load requeue Adobe --all --failed", "database purge",
        "database purge 1 --older-than 3", "database purge --older-than -1", "run --roles \"\"",
        "run --accounts 0", "access usage --by account", "access usage 2026-11-22", "run --accounts 33", "layout switch", "layout drop",
        "poison list no-such-queue", "status --watch --json", "drop no-such-file.zip", "demo --storage UseDevelopmentStorage=true",
        "database backup", "database restore", "sample --accounts 0 Out.zip", "sample --accounts 10 --overlap 20 Out.zip",
    ];

    [Theory]
    [MemberData(nameof(Invalid))]
    public void Invalid_command_line_does_not_parse(string line) => Assert.NotEmpty(CommandTree.Create().Parse(line).Errors);

    [Theory]
    [InlineData("statsu", "there is no command 'statsu': did you mean 'status'?")]
    [InlineData("subscribers improt x.csv", "there is no command 'subscribers improt': did you mean 'subscribers import'?")]
    [InlineData("bogus", "there is no command 'bogus'")]
    [InlineData("breachs", "there is no command 'breachs': did you mean 'breach'?")]
    [InlineData("status --wtach", "'hibp status' has no option '--wtach': did you mean '--watch'?")]
    [InlineData("status --jsno", "'hibp status' has no option '--jsno': did you mean '--json'?")]
    [InlineData("lookup --frobnicate=7", "'hibp lookup' has no option '--frobnicate'")]
    [InlineData("doctor now", "'now' is one argument too many: 'hibp doctor' takes none")]
    [InlineData("lookup a@b.example c@d.example", "'c@d.example' is one argument too many: 'hibp lookup' takes EMAIL")]
    [InlineData("load resume abc", "'abc' is not the number of a load, which 'hibp status' shows")]
    [InlineData("database purge abc", "'abc' is not the number of a load, which 'hibp status' shows")]
    [InlineData("run --accounts many", "--accounts: expected a whole number, found 'many'")]
    [InlineData(
        "run --roles everything",
        "'everything' is not a role: expected ingest, upsert, notify, call, sweep, passwords, journal, access, web")]
    [InlineData("run --roles ,", "--roles names no role: ingest, upsert, notify, call, sweep, passwords, journal, access, web")]
    [InlineData("breach set Adobe --date 2999-01-01", "--date 2999-01-01 is in the future: when was it breached?")]
    [InlineData("breach set Adobe --date yesterday", "--date takes a date as yyyy-MM-dd")]
    [InlineData(
        "breach set Adobe --domain not.a.domain!", "--domain: expected the domain of a site, as example.com, found 'not.a.domain!'")]
    [InlineData("breach set Adobe --domain adobe", "--domain: expected the domain of a site, as example.com, found 'adobe'")]
    public void Invalid_command_line_is_explained_with_a_suggestion(string line, string expected) =>
        Assert.Equal([expected], ErrorsOf(line));

    [Theory]
    [InlineData("lookup -")]
    [InlineData("lookup -- -odd-@example.com")]
    [InlineData("run --roles ingest,log")]
    [InlineData("breach set Adobe --domain bücher.example --date 2013-10-04")]
    public void Unusual_but_valid_command_line_is_accepted(string line) => Assert.Empty(ErrorsOf(line));

    [Fact]
    public void Incomplete_line_for_shell_completion_is_not_an_error() => Assert.Empty(
        UsageErrors.Of(CommandTree.Create().Parse(["[suggest:17]", "hibp status --wat"])));

    private static IReadOnlyList<string> ErrorsOf(string line) => UsageErrors.Of(CommandTree.Create().Parse(line.Split(' ')));
}
