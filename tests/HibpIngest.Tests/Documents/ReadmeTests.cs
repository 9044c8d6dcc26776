using System.Collections;
using System.CommandLine;
using HibpIngest.Cli.Commands;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Tests.Documents;

/// <summary>
/// Tests that the program accepts every command in README.md, docs/*.md and the pages next to them, and that
/// docs/settings.md lists every setting.
/// </summary>
public sealed class ReadmeTests
{
    private const string Settings = "docs/settings.md";

    [Fact]
    public void Commands_parse()
    {
        var commands = DocumentFiles.All.SelectMany(document => ShellLines(document)
            .Where(line => line.StartsWith("hibp ", StringComparison.Ordinal)).Select(line => (document, line))).ToList();
        Assert.True(commands.Count(command => command.document == "README.md") > 4, "the README was expected to show commands");
        Assert.True(commands.Count > 25, "the documents were expected to show commands");
        using var folder = new TemporaryFolder();
        foreach (var (document, command) in commands)
        {
            // The files that a command names exist only for the reader.
            var line = command.Split('#')[0].Split(" < ")[0].Split(" | ")[0].Trim()["hibp ".Length..];
            foreach (var file in line.Split(' ').Where(
                word => Path.HasExtension(word) && !word.Contains('@', StringComparison.Ordinal)
                && !word.Contains("://", StringComparison.Ordinal)))
                line = line.Replace(file, folder.Write(file, ""), StringComparison.Ordinal);
            var errors = CommandTree.Create().Parse(line).Errors;
            Assert.True(errors.Count == 0, $"{document}: {command}: {string.Join("; ", errors.Select(error => error.Message))}");
        }
    }

    [Fact]
    public void Commands_named_in_prose_exist_with_their_options()
    {
        var named = DocumentFiles.All.SelectMany(document => Patterns.Find(DocumentFiles.Prose(document), @"`hibp(?<found>\s[^`]+)`")
            .Select(words => (document, words))).ToList();
        Assert.True(named.Count > 40, "the documents were expected to name commands");
        foreach (var (document, command) in named)
        {
            Command at = CommandTree.Create();
            var options = at.Options.ToList();
            foreach (var word in command.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries))
            {
                if (word.StartsWith('-'))
                {
                    var known = options.Any(option => option.Name == word.Split('=')[0] || option.Aliases.Contains(word.Split('=')[0]));
                    Assert.True(known, $"{document}: hibp {command.Trim()}: unknown option {word}");
                }
                else if (at.Subcommands.FirstOrDefault(child => child.Name == word && (!child.Hidden || IsListOfOldSpellings(document)))
                    is { } child)
                {
                    at = child;
                    options.AddRange(child.Options);
                }
                else
                {
                    Assert.True(at.Subcommands.Count == 0, $"{document}: hibp {command.Trim()}: unknown command {word}");
                }
            }
        }
    }

    private static bool IsListOfOldSpellings(string document) => document is CliPage.Path or "CHANGELOG.md";

    [Fact]
    public void The_readmes_first_two_commands_run_the_demo_and_the_tests()
    {
        var two = ShellLines("README.md").Where(line => line.StartsWith("dotnet ", StringComparison.Ordinal)).Take(2).ToList();
        Assert.Equal(["dotnet run --project src/HibpIngest.Cli -c Release -- demo", "dotnet test -c Release"], two);
    }

    [Fact]
    public void The_settings_page_lists_every_setting_with_its_default()
    {
        var text = DocumentFiles.Read(Settings);
        var options = typeof(TestOptions).GetProperties().SelectMany(part => part.PropertyType.GetProperties())
            .Where(property => property.Name is not (
                nameof(IngestOptions.Limits) or nameof(MailOptions.MailFrom) or nameof(SiteOptions.WebUrl)))
            .Select(HibpOptions.VariableOf);
        var limits = typeof(ArchiveLimits).GetProperties().Where(property => property.CanWrite)
            .Select(property => $"HIBP_LIMITS__{property.Name.ToUpperInvariant()}");
        // Each option in the log's format: HIBP_BATCHROWS=20000, ...
        var defaults = PipelineSettings.Read(null, null, new Hashtable()).Describe().Split(", ")
            .Select(option => option.Split('=', 2)).ToDictionary(pair => pair[0], pair => pair[1]);
        foreach (var name in options.Concat(limits))
            Assert.Contains($"\n| {name} | {Shown(defaults[name])} | ", text, StringComparison.OrdinalIgnoreCase);

        string[] others =
        [
            "HIBP_STORAGE", "HIBP_DATABASE", "HIBP_MAIL", "HIBP_MAIL_FROM", "HIBP_WEB_URL", "HIBP_SECRET_KEY", "HIBP_EMULATOR_DIR",
            "HIBP_SUPPRESSION_KEY", "HIBP_SERVICE_NAME", "HIBP_SERVICE_ADDRESS", "HIBP_SERVICE_CONTACT", "HIBP_SERVICE_LOGO",
            "HIBP_TEMPLATES", "HIBP_UNSUBSCRIBE_MAILTO",
            HomeFolder.Variable,
            TelemetryExport.ApplicationInsightsVariable, TelemetryExport.OtlpVariable,
        ];
        Assert.All(others, name => Assert.Contains($"\n| {name} | ", text, StringComparison.Ordinal));
        Assert.Contains($"| HIBP_STORAGE | `{PipelineSettings.DefaultStorage}` |", text, StringComparison.Ordinal);
        Assert.Contains($"| HIBP_WEB_URL | `{new SiteOptions().WebUrl}` |", text, StringComparison.Ordinal);
        Assert.Contains($"| HIBP_MAIL_FROM | `{new MailOptions().MailFrom}` |", text, StringComparison.Ordinal);
    }

    [Fact]
    public void Named_settings_exist()
    {
        var named = DocumentFiles.All.SelectMany(document => Patterns.Find(DocumentFiles.Read(document), @"\bHIBP_[A-Z_]*[A-Z]\b")
            .Select(name => (document, name))).Distinct().ToList();
        Assert.True(named.Count > 30, "the documents were expected to name settings");
        string[] ofTheTests =
            ["HIBP_TEST_SQLSERVER", "HIBP_TEST_CLIENTS", "HIBP_TEST_CALLS", "HIBP_TEST_CAMPAIGN", "HIBP_GOLDEN", "HIBP_FUNCTIONS_HOST"];
        string[] former = ["HIBP_APP", "HIBP_LOG", "HIBP_LOG_STORAGE"];
        named.RemoveAll(one => ofTheTests.Contains(one.name) || (one.document == "CHANGELOG.md" && former.Contains(one.name)));
        foreach (var (document, name) in named)
            Assert.True(IsSetting(name), $"{document}: the setting {name} doesn't exist");
    }

    internal static bool IsSetting(string name)
    {
        try
        {
            return PipelineSettings.Read(null, null, new Hashtable { [name] = "1" }).UnknownVariables.Count == 0;
        }
        catch (BadInputException)
        {
            return true; // the setting exists, but 1 isn't a valid value
        }
    }

    [Fact]
    public void The_settings_page_lists_exactly_the_variables_that_deploy_sh_reads()
    {
        var script = DocumentFiles.Read("infra/deploy.sh");
        var usage = script[..script.IndexOf("\nEND\n", StringComparison.Ordinal)];
        var read = Variables(usage);
        Assert.NotEmpty(read);
        Assert.Equal(read.Order(), Variables(DocumentFiles.Read(Settings)).Order());
        Assert.Subset(read, Variables(DocumentFiles.ReadAll()));

        static HashSet<string> Variables(string text) => [.. Patterns.Find(text, @"\bDEPLOY_[A-Z_]*[A-Z]\b")];
    }

    /// <summary>Returns a default as the page shows it: sizes in MiB or TiB, everything else as it is set.</summary>
    private static string Shown(string value)
    {
        const long MiB = 1L << 20;
        const long TiB = 1L << 40;
        if (!long.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var number) || number < MiB || number % MiB != 0)
            return value;
        return number % TiB == 0 ? $"{number / TiB} TiB" : $"{number / MiB} MiB";
    }

    private static IEnumerable<string> ShellLines(string document) =>
        DocumentFiles.Lines(document).Where(line => line.Snippet == "sh").Select(line => line.Line);
}
