using System.Collections;
using HibpIngest.Cli;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using Shown = HibpIngest.Cli.Output.Documents;

namespace HibpIngest.Tests.Cli;

/// <summary>Tests the documents of --json. Their schemas, as 'hibp schema' prints them, are in Schemas/.</summary>
public sealed class JsonDocumentsTests
{
    public static TheoryData<string> Commands() => [.. SchemaCommand.Commands];

    [Theory]
    [MemberData(nameof(Commands))]
    public async Task Command_schema_matches_the_reviewed_file(string command)
    {
        var text = new StringWriter { NewLine = "\n" };
        var environment = CommandEnvironment.Redirected(new Hashtable(), Stream.Null, Stream.Null, TextWriter.Null);
        environment.Output = text;
        Assert.Equal(0, await Program.RunAsync(["schema", .. command.Split(' ')], environment, CancellationToken.None));
        var schema = text.ToString().ReplaceLineEndings("\n");
        using var parsed = JsonDocument.Parse(schema);
        // Within an anyOf, a pointer from the root would lead elsewhere.
        Assert.False(parsed.RootElement.TryGetProperty("anyOf", out _) && schema.Contains("$ref", StringComparison.Ordinal));
        ScreensTests.Compare($"tests/HibpIngest.Tests/Cli/Schemas/{command.Replace(' ', '-')}.json", schema);
    }

    [Fact]
    public void Every_command_except_completion_run_and_serve_has_a_schema()
    {
        var all = CommandTree.CreateGroups().SelectMany(group => group.Commands)
            .SelectMany(command => command is CommandGroup ? command.Subcommands.Select(below => $"{command.Name} "
                + $"{below.Name}") : [command.Name]);
        Assert.Equal(["completion", "run", "serve"], all.Except(SchemaCommand.Commands).Order(StringComparer.Ordinal));
        Assert.Empty(SchemaCommand.Commands.Except(all));
    }

    [Fact]
    public void Only_the_first_error_is_written_as_a_document()
    {
        var text = new StringWriter();
        var screen = new Screen(json: true, Screen.Create(text), Screen.Create(TextWriter.Null));
        screen.ShowError("it is down", 1);
        screen.ShowError("and so is that", 1);
        Assert.Equal(
            """{"error":{"message":"it is down","exitCode":1}}""", JsonSerializer.Serialize(JsonElement.Parse(text.ToString())));
    }

    [Fact]
    public void Load_without_elapsed_time_has_zero_rows_per_second()
    {
        var load = StatusSamples.NewLoad(1, HibpIngest.Breaches.LoadState.Ingesting, DateTimeOffset.UnixEpoch) with { LastPosition = 5 };
        var document = Shown.Of(new StatusSnapshot([load], [], [], [], []), DateTimeOffset.UnixEpoch, mailsPerSecond: 10);
        Assert.Contains("\"rowsPerSecond\": 0", JsonSerializer.Serialize(document, Shown.Options), StringComparison.Ordinal);
    }
}
