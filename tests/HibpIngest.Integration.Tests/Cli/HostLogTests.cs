namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests a host's machine-readable log, and shell completion.</summary>
public sealed class HostLogTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Host_log_is_json_when_HIBP_LOG_FORMAT_is_json()
    {
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync(),
            ["HIBP_LOG_FORMAT"] = "json",
            ["HIBP_STORGE"] = "misspelt",
        };
        await using var host = await HibpProcess.StartAsync(
            _folder.Path, variables, "local host: started", "run", "--log-level", "debug");
        var lines = (await host.TerminateAsync()).Error.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonElement.Parse(line)).ToList();
        Assert.All(lines, line => Assert.Matches(@"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", line.Text("time")));
        Assert.Contains(lines, line => line.Text("level") == "warning"
            && line.Text("message")!.StartsWith("HIBP_STORGE is not a setting", StringComparison.Ordinal));
        var started = Assert.Single(lines, line => line.TryGetProperty("fields", out var fields) && fields.TryGetProperty("Roles", out _));
        Assert.Equal(("information", "All"), (started.Text("level"), started.GetProperty("fields").Text("Roles")));
    }

    [Fact]
    public async Task Log_format_and_level_variables_are_validated()
    {
        foreach (var (variable, expected) in ((string, string)[])[
            ("HIBP_LOG_FORMAT", "text or json"), ("HIBP_LOG_LEVEL", "trace or debug or information or warning or error or critical")])
        {
            (await HibpProcess.RunAsync(_folder.Path, new Dictionary<string, string> { [variable] = "1" }, "serve"))
                .FailedWith($"error: {variable}: expected {expected}");
        }
    }

    [Fact]
    public async Task Bash_completes_commands_options_and_values()
    {
        var program = Path.Combine(AppContext.BaseDirectory, "hibp.dll");
        // As bash calls it: the line, the cursor's position in it, and the word at the cursor.
        var script = $$"""
            hibp() { dotnet '{{program}}' "$@"; }
            source <(hibp completion bash)
            complete -p hibp
            ask() {
              COMP_LINE="$1" COMP_POINT=${#1} COMPREPLY=()
              COMP_WORDS=($1); [[ "$1" != *' ' ]] || COMP_WORDS+=('')
              COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
              _hibp
              echo "$1= ${COMPREPLY[*]}"
            }
            ask 'hibp sta'
            ask 'hibp breach '
            ask 'hibp run --log-f'
            ask 'hibp run --log-format '
            ask 'hibp run --roles up'
            """;
        var bash = await new ProcessStartInfo("bash", ["-c", script]) { WorkingDirectory = _folder.Path }.RunToEndAsync();
        var lines = bash.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal("complete -o default -F _hibp hibp", lines[0]);
        Assert.Equal("hibp sta= status", lines[1]);
        var breach = lines[2].Split(' ');
        Assert.All((string[])["assign", "hide", "remove", "set", "unhide"], command => Assert.Contains(command, breach));
        Assert.Equal("hibp run --log-f= --log-format", lines[3]);
        Assert.Equal(["json", "text"], lines[4].Split("= ")[1].Split(' ').Where(word => word.Length > 0 && !word.StartsWith('-')).Order());
        Assert.Equal("hibp run --roles up= upsert", lines[5]);
    }

    [Fact]
    public async Task Version_shows_the_short_commit_and_completion_supports_pwsh()
    {
        var said = (await HibpProcess.RunAsync(_folder.Path, new Dictionary<string, string>(), "--version")).Succeeded().Output;
        Assert.Matches(@"^hibp \d+\.\d+\.\d+( \([0-9a-f]{7}\))?\r?\n$", said);
        var pwsh = (await HibpProcess.RunAsync(_folder.Path, new Dictionary<string, string>(), "completion", "pwsh")).Succeeded().Output;
        Assert.Contains("Register-ArgumentCompleter -Native -CommandName hibp ", pwsh, StringComparison.Ordinal);
    }
}
