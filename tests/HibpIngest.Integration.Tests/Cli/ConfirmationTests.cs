namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests that irreversible commands ask for confirmation on a terminal, and are refused without one.</summary>
public sealed class ConfirmationTests : IAsyncLifetime
{
    private PipelineRig _rig = null!;

    public async Task InitializeAsync()
    {
        _rig = await PipelineRig.StartAsync();
        await _rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 10))));
        await _rig.RunToEndAsync();
    }

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [Theory]
    [InlineData("")]
    [InlineData("n\n")]
    [InlineData("Adobe\n")]
    public async Task Removal_without_a_terminal_requires_yes(string input)
    {
        var refused = await HibpProcess.RunWithInputAsync(_rig.Folder, _rig.Variables, input, "breach", "remove", "Adobe");
        AssertRefused(refused.ExitCode, refused.Error.TrimEnd().Split(Environment.NewLine));
        await AssertThereAsync();
        (await HibpProcess.RunWithInputAsync(_rig.Folder, _rig.Variables, input, "breach", "remove", "Adobe", "--yes")).Succeeded();
        Assert.Empty(await _rig.TableAsync());
    }

    [Theory]
    [InlineData("2>messages")]
    [InlineData("2>messages </dev/null")]
    [InlineData("</dev/null")]
    [InlineData("2>&1 | tee messages; exit ${PIPESTATUS[0]}")]
    public async Task Removal_with_only_part_of_a_terminal_requires_yes(string redirection)
    {
        var variables = new Dictionary<string, string>(_rig.Variables) { ["SHELL"] = "/bin/bash" };
        await using var terminal = new TerminalProcess(_rig.Folder, variables, $"breach remove Adobe {redirection}");
        var (exitCode, shown) = await terminal.EndAsync();
        var messages = Path.Combine(_rig.Folder, "messages");
        // On a terminal, the message follows the control sequences that set it up.
        var said = File.Exists(messages)
            ? await File.ReadAllTextAsync(messages) : shown[shown.IndexOf("error:", StringComparison.Ordinal)..];
        AssertRefused(exitCode, said.TrimEnd().ReplaceLineEndings().Split(Environment.NewLine));
        await AssertThereAsync();
    }

    [Theory]
    [InlineData("xterm", "")]
    [InlineData("dumb", "")]
    [InlineData("xterm", " >result")]
    public async Task Removal_on_a_terminal_requires_the_typed_name(string term, string redirection)
    {
        var variables = new Dictionary<string, string>(_rig.Variables) { ["TERM"] = term };
        foreach (var (keys, expected) in new[] { ("y\r", 1), ("\r", 1), ("adobe\r", 1), ("\u0004", 1), ("\u0003", 130) })
        {
            await using var terminal = new TerminalProcess(_rig.Folder, variables, "breach remove adobe" + redirection);
            await terminal.SeesAsync("Type its name to continue: ");
            await terminal.TypeAsync(keys);
            var (exitCode, shown) = await terminal.EndAsync();
            Assert.Equal(expected, exitCode);
            if (expected == 1)
                Assert.Contains("error: nothing was done", shown, StringComparison.Ordinal);
            await AssertThereAsync();
        }
        await using var last = new TerminalProcess(_rig.Folder, variables, "breach remove adobe" + redirection);
        await last.SeesAsync("This removes Adobe from every account, and can't be undone. Type its name to continue: ");
        await last.TypeAsync("Adobe\r");
        Assert.Equal(0, (await last.EndAsync()).ExitCode);
        Assert.Empty(await _rig.TableAsync());
    }

    private static void AssertRefused(int exitCode, string[] lines)
    {
        Assert.Equal(
            ["error: confirmation needs a terminal for input and messages; to run 'breach remove' without one, add --yes",
                "see: hibp breach remove --help"], lines);
        Assert.Equal(2, exitCode);
    }

    private async Task AssertThereAsync()
    {
        Assert.Equal(10, (await _rig.TableAsync()).Count);
        Assert.NotNull(await _rig.Context.Database.GetBreachAsync("Adobe", None));
    }
}
