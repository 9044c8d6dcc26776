namespace HibpIngest.Tests.Cli;

/// <summary>Tests the command tree's help, and invalid command lines.</summary>
public sealed class UsageTests
{
    [Fact]
    public void Every_command_teaches_by_example()
    {
        var commands = Below(HibpIngest.Cli.Commands.CommandTree.Create()).OfType<HibpIngest.Cli.Commands.HibpCommand>().ToList();
        Assert.Equal(71, commands.Count);
        Assert.All(commands, command =>
        {
            Assert.NotEmpty(command.Examples);
            Assert.All(command.Examples, example =>
            {
                // Every example must parse. (Files in it need not exist; redirections are the shell's.)
                var line = example.Line["hibp ".Length..].Split(" < ")[0].Split(" | ")[0].Split(" >")[0];
                var errors = HibpIngest.Cli.Commands.CommandTree.Create().Parse(line).Errors;
                Assert.All(errors, error => Assert.Contains("File does not exist", error.Message, StringComparison.Ordinal));
            });
            Assert.All(command.Arguments, argument => Assert.False(string.IsNullOrEmpty(argument.Description)));
            Assert.All(command.Options, option => Assert.False(string.IsNullOrEmpty(option.Description)));
        });

        static IEnumerable<System.CommandLine.Command> Below(System.CommandLine.Command command) =>
            command.Subcommands.SelectMany(below => Below(below).Prepend(below));
    }

    [Fact]
    public void The_help_has_each_command_in_one_group()
    {
        var root = HibpIngest.Cli.Commands.CommandTree.Create();
        Assert.Equal(
            root.Subcommands.Select(command => command.Name).Order(),
            HibpIngest.Cli.Commands.TeachingHelp.Groups.SelectMany(group => group.Commands).Order());
        var text = Help("--help");
        Assert.All(
            HibpIngest.Cli.Commands.TeachingHelp.Groups,
            group => Assert.Contains($"\n{group.Title}:\n", text, StringComparison.Ordinal));
        foreach (var command in root.Subcommands)
            Assert.Single(text.Split('\n'), line => line.StartsWith($"  {command.Name} ", StringComparison.Ordinal));
    }

    [Fact]
    public void Values_are_written_in_help_as_they_are_typed()
    {
        var root = HibpIngest.Cli.Commands.CommandTree.Create();
        foreach (var path in Paths(root, ""))
        {
            Assert.All(
                Help($"{path} --help".Trim()).Split('\n').Where(line => line.Contains('<', StringComparison.Ordinal)),
                line => Assert.DoesNotMatch("<[A-Za-z0-9]*[A-Z][a-z][A-Za-z0-9]*(\\|[A-Za-z0-9]+)+>", line));
        }

        static IEnumerable<string> Paths(System.CommandLine.Command command, string path) => command.Subcommands
            .SelectMany(below => Paths(below, $"{path} {below.Name}".Trim())).Prepend(path);
    }

    private static string Help(string line)
    {
        var text = new StringWriter();
        HibpIngest.Cli.Commands.CommandTree.Create().Parse(line)
            .Invoke(new System.CommandLine.InvocationConfiguration { Output = text });
        return text.ToString().ReplaceLineEndings("\n");
    }

    [Theory]
    [InlineData("")]
    [InlineData("bogus")]
    [InlineData("poison")]
    [InlineData("lookup")]
    [InlineData("requeue Adobe")]
    [InlineData("requeue Adobe --all --failed")]
    [InlineData("purge")]
    [InlineData("purge 1 --older-than 3")]
    [InlineData("purge --older-than -1")]
    [InlineData("run --roles everything")]
    [InlineData("run --roles \"\"")]
    [InlineData("run --accounts 0")]
    [InlineData("usage --by account")]
    [InlineData("usage 2026-11-22")]
    [InlineData("run --accounts 33")]
    [InlineData("switch")]
    [InlineData("layout drop")]
    [InlineData("poison list no-such-queue")]
    [InlineData("status --watch --json")]
    [InlineData("drop no-such-file.zip")]
    [InlineData("demo --storage UseDevelopmentStorage=true")]
    [InlineData("backup")]
    [InlineData("restore")]
    [InlineData("sample --accounts 0 Out.zip")]
    [InlineData("sample --accounts 10 --overlap 20 Out.zip")]
    public void A_wrong_command_line_does_not_parse(string line) =>
        Assert.NotEmpty(HibpIngest.Cli.Commands.CommandTree.Create().Parse(line).Errors);

    [Theory]
    [InlineData("statsu", "there is no command 'statsu': did you mean 'status'?")]
    [InlineData("subscribers improt x.csv", "there is no command 'subscribers improt': did you mean 'subscribers import'?")]
    [InlineData("bogus", "there is no command 'bogus'")]
    [InlineData("status --wtach", "'hibp status' has no option '--wtach': did you mean '--watch'?")]
    [InlineData("status --jsno", "'hibp status' has no option '--jsno': did you mean '--json'?")]
    [InlineData("lookup --verbos", "'hibp lookup' has no option '--verbos': did you mean '--verbose'?")]
    [InlineData("lookup --frobnicate=7", "'hibp lookup' has no option '--frobnicate'")]
    [InlineData("doctor now", "'now' is one argument too many: 'hibp doctor' takes none")]
    [InlineData("lookup a@b.example c@d.example", "'c@d.example' is one argument too many: 'hibp lookup' takes EMAIL")]
    [InlineData("resume abc", "'abc' is no load: a number, as hibp status shows it")]
    [InlineData("purge abc", "'abc' is no load: a number, as hibp status shows it")]
    [InlineData("run --accounts many", "--accounts takes a whole number, found 'many'")]
    [InlineData("run --roles everything", "'everything' is no role: ingest, upsert, notify, call, sweep, passwords, log, access, web")]
    [InlineData("run --roles ,", "--roles names no role: ingest, upsert, notify, call, sweep, passwords, log, access, web")]
    [InlineData("breach set Adobe --date 2999-01-01", "--date 2999-01-01 is in the future: when was it breached?")]
    [InlineData("breach set Adobe --date yesterday", "--date takes a date as yyyy-MM-dd")]
    [InlineData("breach set Adobe --domain not.a.domain!", "--domain takes the domain of a site, as example.com; found 'not.a.domain!'")]
    [InlineData("breach set Adobe --domain adobe", "--domain takes the domain of a site, as example.com; found 'adobe'")]
    public void What_is_wrong_is_said_in_words_with_what_is_near(string line, string expected) =>
        Assert.Equal([expected], Wrong(line));

    [Theory]
    [InlineData("lookup -")]
    [InlineData("lookup -- -odd-@example.com")]
    [InlineData("breach set Adobe --domain bücher.example --date 2013-10-04")]
    public void What_only_looks_odd_is_taken(string line) => Assert.Empty(Wrong(line));

    [Fact]
    public void Half_a_line_that_a_shell_wants_completed_is_not_wrong() => Assert.Empty(
        HibpIngest.Cli.Commands.UsageErrors.Of(HibpIngest.Cli.Commands.CommandTree.Create().Parse(["[suggest:17]", "hibp status --wat"])));

    private static IReadOnlyList<string> Wrong(string line) =>
        HibpIngest.Cli.Commands.UsageErrors.Of(HibpIngest.Cli.Commands.CommandTree.Create().Parse(line.Split(' ')));
}
