using System.CommandLine;
using HibpIngest.Archives;
using HibpIngest.Breaches;
using HibpIngest.Cli.Commands;
using HibpIngest.Pipeline;
using HibpIngest.Tests.Cli;

namespace HibpIngest.Tests.EndToEnd;

/// <summary>What the README tells people to type is what the program takes, and it names every setting.</summary>
public sealed class ReadmeTests
{
    private static readonly string Text = File.ReadAllText(RepositoryFile.Path("README.md"));

    [Fact]
    public void Its_commands_parse()
    {
        var commands = Lines().Where(line => line.StartsWith("hibp ", StringComparison.Ordinal)).ToList();
        Assert.True(commands.Count > 10, "the README was expected to show commands");
        using var folder = new TemporaryFolder();
        foreach (var command in commands)
        {
            // Files that a command names are there for whoever follows the README.
            var line = command.Split('#')[0].Trim()["hibp ".Length..];
            foreach (var file in line.Split(' ').Where(word => Path.HasExtension(word) && !word.Contains('@', StringComparison.Ordinal)))
                line = line.Replace(file, folder.Write(file, ""), StringComparison.Ordinal);
            var errors = CommandTree.Create().Parse(line).Errors;
            Assert.True(errors.Count == 0, $"{command}: {string.Join("; ", errors.Select(error => error.Message))}");
        }
    }

    [Fact]
    public void Its_two_commands_are_the_demo_and_the_tests()
    {
        var two = Lines().Where(line => line.StartsWith("dotnet ", StringComparison.Ordinal)).Take(2).ToList();
        Assert.Equal(["dotnet run --project src/HibpIngest.Cli -c Release -- demo", "dotnet test -c Release"], two);
    }

    [Fact]
    public void It_names_every_setting()
    {
        var options = typeof(PipelineOptions).GetProperties().Where(property => property.Name is not (nameof(PipelineOptions.Limits) or nameof(PipelineOptions.MailFrom)))
            .Select(property => $"HIBP_{property.Name.ToUpperInvariant()}");
        var limits = typeof(ArchiveLimits).GetProperties().Where(property => property.CanWrite).Select(property => $"HIBP_LIMITS__{property.Name.ToUpperInvariant()}");
        foreach (var name in options.Concat(limits))
            Assert.True(Text.Contains(name, StringComparison.Ordinal), $"the README does not name {name}");
    }

    /// <summary>The lines of its shell snippets.</summary>
    private static IEnumerable<string> Lines()
    {
        var inside = false;
        foreach (var line in Text.Split('\n'))
        {
            if (line.StartsWith("```", StringComparison.Ordinal))
                inside = line == "```sh";
            else if (inside)
                yield return line;
        }
    }
}
