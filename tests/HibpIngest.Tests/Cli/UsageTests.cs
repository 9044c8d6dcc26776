namespace HibpIngest.Tests.Cli;

/// <summary>What the command tree says of itself, and command lines that are wrong.</summary>
public sealed class UsageTests
{
    [Fact]
    public void Every_command_teaches_by_example()
    {
        var commands = Below(HibpIngest.Cli.Commands.CommandTree.Create()).OfType<HibpIngest.Cli.Commands.HibpCommand>().ToList();
        Assert.Equal(63, commands.Count);
        Assert.All(commands, command =>
        {
            Assert.NotEmpty(command.Examples);
            Assert.All(command.Examples, example =>
            {
                // An example that does not parse teaches something wrong. (Files in it need not exist;
                // redirections are the shell's.)
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
    [InlineData("sample --accounts 0 Out.zip")]
    [InlineData("sample --accounts 10 --overlap 20 Out.zip")]
    public void A_wrong_command_line_does_not_parse(string line) =>
        Assert.NotEmpty(HibpIngest.Cli.Commands.CommandTree.Create().Parse(line).Errors);
}
