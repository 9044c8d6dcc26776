using System.Collections;
using System.Text.Json;
using HibpIngest.Cli;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using Shown = HibpIngest.Cli.Output.Documents;

namespace HibpIngest.Tests.Cli;

/// <summary>
/// Tests the documents of --json. Their schemas, as 'hibp schema' prints them, are in Schemas/; HIBP_GOLDEN=write rewrites them for review
/// before a commit.
/// </summary>
public sealed class JsonDocumentsTests
{
    public static TheoryData<string> Commands() => [.. SchemaCommand.Commands];

    [Theory]
    [MemberData(nameof(Commands))]
    public async Task A_command_has_the_schema_that_was_reviewed(string command)
    {
        var text = new StringWriter { NewLine = "\n" };
        var environment = CommandEnvironment.Redirected(new Hashtable(), Stream.Null, Stream.Null, TextWriter.Null);
        environment.Output = text;
        Assert.Equal(0, await Program.RunAsync(["schema", .. command.Split(' ')], environment, CancellationToken.None));
        var schema = text.ToString().ReplaceLineEndings("\n");
        using var parsed = JsonDocument.Parse(schema);
        // Within an anyOf, a pointer from the root would lead elsewhere.
        Assert.False(parsed.RootElement.TryGetProperty("anyOf", out _) && schema.Contains("$ref", StringComparison.Ordinal));

        var path = Path.Combine(
            DocumentFiles.Root, "tests", "HibpIngest.Tests", "Cli", "Schemas", command.Replace(' ', '-') + ".json");
        if (Environment.GetEnvironmentVariable("HIBP_GOLDEN") == "write")
            File.WriteAllText(path, schema);
        Assert.True(File.Exists(path), $"{path} doesn't exist: HIBP_GOLDEN=write writes it");
        Assert.Equal(File.ReadAllText(path).ReplaceLineEndings("\n"), schema);
    }

    [Fact]
    public void Commands_without_a_schema_are_these()
    {
        var all = CommandTree.CreateGroups().SelectMany(group => group.Commands)
            .SelectMany(command => command is CommandGroup ? command.Subcommands.Select(below => $"{command.Name} "
                + $"{below.Name}") : [command.Name]);
        Assert.Equal(["completion", "run", "serve"], all.Except(SchemaCommand.Commands).Order(StringComparer.Ordinal));
        Assert.Empty(SchemaCommand.Commands.Except(all));
    }

    [Fact]
    public void A_failure_is_one_document_and_none_where_there_is_one()
    {
        var text = new StringWriter();
        var screen = new Screen(json: true, Screen.Create(text), Screen.Create(TextWriter.Null));
        screen.ShowError("it is down", 1);
        screen.ShowError("and so is that", 1);
        using var document = JsonDocument.Parse(text.ToString());
        Assert.Equal(
            """{"error":{"message":"it is down","exitCode":1}}""", JsonSerializer.Serialize(document.RootElement));
    }

    [Fact]
    public void A_load_that_took_no_time_has_figures_that_are_numbers()
    {
        var load = new HibpIngest.Breaches.Load
        {
            Id = 1,
            Breach = "Adobe",
            Blob = new HibpIngest.Breaches.BlobVersion("Adobe.zip", "1"),
            State = HibpIngest.Breaches.LoadState.Ingesting,
            Settings = HibpIngest.Pipeline.Ingest.LoadStart.NewSettings(new HibpIngest.Pipeline.Settings.IngestOptions()),
            Checkpoint = new HibpIngest.Breaches.LoadCheckpoint(),
            StartedAt = DateTimeOffset.UnixEpoch,
            LastPosition = 5,
        };
        var document = Shown.Of(
            new StatusPicture([load], [], [], [], []), DateTimeOffset.UnixEpoch, mailsPerSecond: 10);
        Assert.Contains(
            "\"rowsPerSecond\": 0", JsonSerializer.Serialize(document, Shown.Options), StringComparison.Ordinal);
    }
}
