using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Session;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests, on a process of its own, the help and how an invalid command line or setting fails.</summary>
public sealed class UsageProcessTests : IDisposable
{
    private static readonly Dictionary<string, string> NoVariables = [];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Help_lists_every_command_option_and_exit_code_and_the_main_variables()
    {
        var help = (await HibpProcess.RunAsync(_folder.Path, NoVariables, "--help")).Succeeded();
        Assert.Equal("", help.Error);
        var root = CommandTree.Create();
        foreach (var command in root.Subcommands.Where(command => !command.Hidden))
            Assert.Contains($"\n  {command.Name} ", help.Output.ReplaceLineEndings("\n"), StringComparison.Ordinal);
        foreach (var option in root.Options.Where(option => !option.Hidden))
            Assert.Contains(option.Name, help.Output, StringComparison.Ordinal);
        foreach (var (name, meaning) in TeachingHelp.Variables)
            Assert.Contains($"  {name,-24} {meaning}", help.Output, StringComparison.Ordinal);
        int[] exitCodes =
            [0, Failure.Failed, Failure.WrongUsage, StopSignals.ByInterrupt, StopSignals.ByTermination, StatusCommand.BrokenPipe];
        var line = help.Output.Split('\n').Single(text => text.StartsWith("Exit codes: ", StringComparison.Ordinal));
        Assert.Equal(
            exitCodes.Select(code => $"{code}"),
            line.Split(' ', StringSplitOptions.RemoveEmptyEntries).Where(word => char.IsAsciiDigit(word[0])));
        Assert.Contains("\nExamples:", help.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Invalid_command_line_exits_with_2_and_refers_to_help()
    {
        var result = await HibpProcess.RunAsync(_folder.Path, NoVariables, "load", "requeue", "Adobe");
        Assert.Equal(2, result.ExitCode);
        Assert.Equal("", result.Output);
        var lines = result.Error.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(["error: give exactly one of --slice, --failed, --all", "see: hibp load requeue --help"], lines);
    }

    [Fact]
    public async Task Invalid_setting_exits_with_1_and_names_its_variable()
    {
        var line = (await HibpProcess.RunAsync(_folder.Path, new Dictionary<string, string> { ["HIBP_BATCHROWS"] = "many" }, "breaches"))
            .FailedWithOneLine();
        Assert.Equal("error: HIBP_BATCHROWS: expected a whole number, found 'many'", line);
    }
}
