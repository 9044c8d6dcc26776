namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests help, and how an invalid command line fails.</summary>
public sealed class UsageProcessTests : IDisposable
{
    private static readonly Dictionary<string, string> NoVariables = [];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Help_lists_every_command_variable_and_exit_code()
    {
        var help = (await HibpProcess.RunAsync(_folder.Path, NoVariables, "--help")).Succeeded();
        Assert.Equal("", help.Error);
        foreach (var word in (string[])
            [
                "demo", "run", "drop", "status", "lookup", "breaches", "breach", "subscribers", "notify", "hold", "slices", "requeue",
                    "poison", "resume", "purge", "sample", "database", "doctor",
                "--storage", "--database", "--json", "--verbose", "HIBP_STORAGE", "HIBP_DATABASE", "HIBP_MAIL", "HIBP_MAIL_FROM",
                "HIBP_SECRET_KEY", "130", "Examples:",
            ])
        {
            Assert.Contains(word, help.Output, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Invalid_command_line_exits_with_2_and_refers_to_help()
    {
        var result = await HibpProcess.RunAsync(_folder.Path, NoVariables, "load", "requeue", "Adobe");
        Assert.Equal(2, result.ExitCode);
        Assert.Equal("", result.Output);
        Assert.Equal(
            ["error: give exactly one of --slice, --failed, --all", "see: hibp load requeue --help"], result.Error.Split(
                Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public async Task Invalid_setting_exits_with_1_and_names_its_variable()
    {
        var line = (await HibpProcess.RunAsync(_folder.Path, new Dictionary<string, string> { ["HIBP_BATCHROWS"] = "many" }, "breaches"))
            .FailedWithOneLine();
        Assert.Equal("error: HIBP_BATCHROWS: expected a whole number, found 'many'", line);
    }

    [Fact]
    public async Task Each_invalid_setting_is_reported_on_its_own_line()
    {
        var result = await HibpInProcess.RunAsync(
            _folder.Path, new Dictionary<string, string> { ["HIBP_SLICELEASE"] = "5", ["HIBP_BATCHROWS"] = "many" }, "breaches");
        Assert.Equal(1, result.ExitCode);
        Assert.Equal(
            [
                "error: HIBP_BATCHROWS: expected a whole number, found 'many'",
                "error: HIBP_SLICELEASE: expected a duration as hh:mm:ss, found '5'",
            ],
            result.Error.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
    }
}
