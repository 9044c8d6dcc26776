using System.CommandLine;
using HibpIngest.Cli.Commands;

namespace HibpIngest.Tests.Cli;

/// <summary>Tests the command tree's help, and invalid command lines.</summary>
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

        static IEnumerable<Command> Below(Command command) =>
            command.Subcommands.SelectMany(below => Below(below).Prepend(below));
    }

    [Fact]
    public void Help_lists_each_command_once_and_the_getting_started_group_first()
    {
        var groups = CommandTree.CreateGroups();
        Assert.Equal(
            ["demo", "doctor", "run", "drop", "status", "lookup", "serve"], groups[0].Commands.Select(command => command.Name));
        var text = Help("--help");
        Assert.All(groups, group => Assert.Contains($"\n{group.Title}:\n", text, StringComparison.Ordinal));
        foreach (var command in groups.SelectMany(group => group.Commands))
            Assert.Single(text.Split('\n'), line => line.StartsWith($"  {command.Name} ", StringComparison.Ordinal));
        Assert.All(
            CommandTree.OldSpellings.Where(spelling => !spelling.Old.Contains(' ', StringComparison.Ordinal)),
            spelling => Assert.DoesNotContain($"\n  {spelling.Old} ", text, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("breaches --json", "breach list --json")]
    [InlineData("--storage x breaches", "--storage x breach list")]
    [InlineData("breach show Adobe", "breach unhide Adobe")]
    [InlineData("breach --json show Adobe", "breach --json unhide Adobe")]
    [InlineData("slices Adobe --failed", "load slices Adobe --failed")]
    [InlineData("requeue Adobe --slice 3", "load requeue Adobe --slice 3")]
    [InlineData("requeue Adobe", "load requeue Adobe")]
    [InlineData("resume 7 --restart --password x", "load resume 7 --restart --password x")]
    [InlineData("resume abc", "load resume abc")]
    [InlineData("purge --older-than 30 --without-log", "database purge --older-than 30 --without-log")]
    [InlineData("purge 7 --older-than 30", "database purge 7 --older-than 30")]
    [InlineData("backup backups/", "database backup backups/")]
    [InlineData("restore backups/ --dry-run --yes", "database restore backups/ --dry-run --yes")]
    [InlineData("notify Adobe --dry-run", "mail release Adobe --dry-run")]
    [InlineData("hold Adobe", "mail hold Adobe")]
    [InlineData("usage --by key --from 2026-11-01", "access usage --by key --from 2026-11-01")]
    [InlineData("usage --by account", "access usage --by account")]
    [InlineData("layouts", "layout list")]
    [InlineData("rebuild --into spread --spread gmail.com=32", "layout rebuild --into spread --spread gmail.com=32")]
    [InlineData("rebuild", "layout rebuild")]
    [InlineData("switch spread --without-ranges", "layout switch spread --without-ranges")]
    [InlineData("log list", "journal list")]
    [InlineData("log write --load 7 --again", "journal write --load 7 --again")]
    [InlineData("log write --again", "journal write --again")]
    [InlineData("log verify --accounts", "journal verify --accounts")]
    [InlineData("log repair --all --yes", "journal repair --all --yes")]
    [InlineData("log export folder", "journal export folder")]
    [InlineData("log stats --svg log.svg", "journal stats --svg log.svg")]
    [InlineData("log rewrite folder --codec none", "journal rewrite folder --codec none")]
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
        var method = typeof(UsageTests).GetMethod(nameof(Old_spelling_is_parsed_like_the_new_one))!;
        var tested = method.GetCustomAttributes(typeof(InlineDataAttribute), inherit: false).Cast<InlineDataAttribute>()
            .Select(data => (string)data.GetData(method).Single()[0]).ToList();
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
        CommandTree.Create().Parse(line)
            .Invoke(new InvocationConfiguration { Output = text });
        return text.ToString().ReplaceLineEndings("\n");
    }

    [Theory]
    [InlineData("")]
    [InlineData("bogus")]
    [InlineData("poison")]
    [InlineData("lookup")]
    [InlineData("load requeue Adobe")]
    [InlineData("load requeue Adobe --all --failed")]
    [InlineData("database purge")]
    [InlineData("database purge 1 --older-than 3")]
    [InlineData("database purge --older-than -1")]
    [InlineData("run --roles everything")]
    [InlineData("run --roles \"\"")]
    [InlineData("run --accounts 0")]
    [InlineData("access usage --by account")]
    [InlineData("access usage 2026-11-22")]
    [InlineData("run --accounts 33")]
    [InlineData("layout switch")]
    [InlineData("layout drop")]
    [InlineData("poison list no-such-queue")]
    [InlineData("status --watch --json")]
    [InlineData("drop no-such-file.zip")]
    [InlineData("demo --storage UseDevelopmentStorage=true")]
    [InlineData("database backup")]
    [InlineData("database restore")]
    [InlineData("sample --accounts 0 Out.zip")]
    [InlineData("sample --accounts 10 --overlap 20 Out.zip")]
    public void Invalid_command_line_does_not_parse(string line) =>
        Assert.NotEmpty(CommandTree.Create().Parse(line).Errors);

    [Theory]
    [InlineData("statsu", "there is no command 'statsu': did you mean 'status'?")]
    [InlineData("subscribers improt x.csv", "there is no command 'subscribers improt': did you mean 'subscribers import'?")]
    [InlineData("bogus", "there is no command 'bogus'")]
    [InlineData("breachs", "there is no command 'breachs': did you mean 'breach'?")]
    [InlineData("status --wtach", "'hibp status' has no option '--wtach': did you mean '--watch'?")]
    [InlineData("status --jsno", "'hibp status' has no option '--jsno': did you mean '--json'?")]
    [InlineData("lookup --verbos", "'hibp lookup' has no option '--verbos': did you mean '--verbose'?")]
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

    private static IReadOnlyList<string> ErrorsOf(string line) =>
        UsageErrors.Of(CommandTree.Create().Parse(line.Split(' ')));
}
