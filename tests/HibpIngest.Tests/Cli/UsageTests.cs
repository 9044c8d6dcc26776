namespace HibpIngest.Tests.Cli;

/// <summary>Help, and command lines that are wrong.</summary>
public sealed class UsageTests : IDisposable
{
    private static readonly Dictionary<string, string> NoVariables = [];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Help_names_every_command_variable_and_exit_code()
    {
        var help = (await HibpProcess.RunAsync(_folder.Path, NoVariables, "--help")).Succeeded();
        Assert.Equal("", help.Error);
        foreach (var word in (string[])
            [
                "demo", "run", "drop", "status", "lookup", "breaches", "breach", "subscribers", "notify", "hold", "slices", "requeue",
                    "poison", "resume", "purge", "sample", "database", "doctor",
                "--storage", "--database", "--json", "--verbose", "HIBP_STORAGE", "HIBP_DATABASE", "HIBP_MAIL", "HIBP_MAIL_FROM", "HIBP_SECRET_KEY", "130", "Examples:",
            ])
        {
            Assert.Contains(word, help.Output, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Every_command_teaches_by_example()
    {
        var commands = Below(HibpIngest.Cli.Commands.CommandTree.Create()).OfType<HibpIngest.Cli.Commands.HibpCommand>().ToList();
        Assert.Equal(26, commands.Count);
        Assert.All(commands, command =>
        {
            Assert.NotEmpty(command.Examples);
            Assert.All(command.Examples, example =>
            {
                // An example that does not parse teaches something wrong. (Files in it need not exist;
                // redirections are the shell's.)
                var errors = HibpIngest.Cli.Commands.CommandTree.Create().Parse(example.Line["hibp ".Length..].Split(" < ")[0]).Errors;
                Assert.All(errors, error => Assert.Contains("File does not exist", error.Message, StringComparison.Ordinal));
            });
            Assert.All(command.Arguments, argument => Assert.False(string.IsNullOrEmpty(argument.Description)));
            Assert.All(command.Options, option => Assert.False(string.IsNullOrEmpty(option.Description)));
        });

        static IEnumerable<System.CommandLine.Command> Below(System.CommandLine.Command command) => command.Subcommands.SelectMany(below => Below(below).Prepend(below));
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
    [InlineData("poison list no-such-queue")]
    [InlineData("status --watch --json")]
    [InlineData("drop no-such-file.zip")]
    [InlineData("demo --storage UseDevelopmentStorage=true")]
    [InlineData("sample --accounts 0 Out.zip")]
    [InlineData("sample --accounts 10 --overlap 20 Out.zip")]
    public void A_wrong_command_line_does_not_parse(string line) => Assert.NotEmpty(HibpIngest.Cli.Commands.CommandTree.Create().Parse(line).Errors);

    [Fact]
    public async Task A_wrong_command_line_ends_with_2_and_says_where_to_look()
    {
        var result = await HibpProcess.RunAsync(_folder.Path, NoVariables, "requeue", "Adobe");
        Assert.Equal(2, result.ExitCode);
        Assert.Equal("", result.Output);
        Assert.Equal(["error: give exactly one of --slice, --failed, --all", "see: hibp requeue --help"], result.Error.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public async Task A_wrong_setting_ends_with_1_and_names_its_variable()
    {
        var line = (await HibpProcess.RunAsync(_folder.Path, new Dictionary<string, string> { ["HIBP_BATCHROWS"] = "many" }, "breaches")).FailedWithOneLine();
        Assert.Equal("error: HIBP_BATCHROWS is expected to be a whole number, found 'many'", line);
    }
}
