using System.Collections;
using System.Text.RegularExpressions;
using HibpIngest.Cli.Commands;
using HibpIngest.Hosting;

namespace HibpIngest.Tests.Documents;

/// <summary>
/// Tests that every path, setting and command named by the Dockerfile, the compose file and the service exists.
/// Images and services themselves are neither built nor run.
/// </summary>
public sealed partial class MachineFilesTests
{
    private const string Dockerfile = "infra/container/Dockerfile";
    private const string Compose = "infra/container/compose.yaml";
    private const string Service = "infra/systemd/hibp.service";

    [Theory]
    [InlineData(Dockerfile, 2)]
    [InlineData(Compose, 2)]
    [InlineData(Service, 1)]
    public void Named_paths_exist(string file, int atLeast)
    {
        var named = RepositoryPath().Matches(DocumentFiles.Read(file)).Select(match => match.Value.TrimEnd('.')).Distinct().ToList();
        Assert.True(named.Count >= atLeast, $"{file} names {named.Count} paths");
        Assert.All(named, path => Assert.True(Path.Exists(Path.Combine(DocumentFiles.Root, path)), $"{file}: {path} doesn't exist"));
        Assert.True(File.Exists(Path.Combine(DocumentFiles.Root, Dockerfile + ".dockerignore")));
    }

    [Fact]
    public void Named_settings_exist()
    {
        foreach (var file in (string[])[Dockerfile, Compose, Service])
        {
            // The two former names are passed on, since they stay accepted.
            var named = Variable().Matches(DocumentFiles.Read(file)).Select(match => match.Value)
                .Except(["HIBP_LOG", "HIBP_LOG_STORAGE"]).ToList();
            Assert.NotEmpty(named);
            Assert.All(named, name => Assert.True(Exists(name), $"{file}: the setting {name} doesn't exist"));
        }

        static bool Exists(string name)
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
    }

    [Fact]
    public void Compose_passes_every_documented_setting()
    {
        // Not passed on: paths within the containers, and settings of the Functions apps and of the emulator, which is an image.
        string[] excluded = ["HIBP_STORAGE", "HIBP_DATABASE", "HIBP_HOME", "HIBP_EMULATOR_DIR", "HIBP_EMULATOR_PORT"];
        var documented = SettingRow().Matches(DocumentFiles.Read("docs/settings.md")).SelectMany(row => SettingName().Matches(row.Value))
            .Select(match => match.Value).Except(excluded).Distinct().ToList();
        Assert.True(documented.Count > 60, $"{documented.Count} settings");
        var compose = DocumentFiles.Read(Compose);
        Assert.DoesNotContain(documented, name => !compose.Contains($"\n      {name}: ${{{name}:-}}\n", StringComparison.Ordinal));
    }

    [Fact]
    public void Commands_named_in_comments_exist()
    {
        var named = DocumentFiles.Read(Compose) + DocumentFiles.Read(Dockerfile) + DocumentFiles.Read(Service);
        var commands = NamedCommand().Matches(named).Select(match => match.Groups["words"].Value).ToList();
        Assert.NotEmpty(commands);
        foreach (var words in commands.Select(command => command.Split(' ')))
        {
            System.CommandLine.Command at = CommandTree.Create();
            foreach (var word in words)
            {
                at = at.Subcommands.FirstOrDefault(command => command.Name == word && !command.Hidden)
                    ?? throw new InvalidOperationException($"unknown command 'hibp {string.Join(' ', words)}'");
            }
        }
    }

    [Fact]
    public void Command_lines_parse()
    {
        string[] lines =
        [
            .. DockerCommand().Matches(DocumentFiles.Read(Dockerfile)).Select(match => match.Groups["line"].Value),
            .. ComposeCommand().Matches(DocumentFiles.Read(Compose)).Select(match => match.Groups["line"].Value),
            .. ServiceCommand().Matches(DocumentFiles.Read(Service)).Select(match => match.Groups["line"].Value),
        ];
        Assert.Equal(["run", "drop /drop/Adobe.zip --wait", "run", "serve --urls http://0.0.0.0:8080", "run"], lines);
        // The file for drop doesn't exist here.
        Assert.All(lines.Where(line => !line.StartsWith("drop", StringComparison.Ordinal)), line => Assert.Empty(
            CommandTree.Create().Parse(line).Errors));
    }

    [Fact]
    public void Versions_and_the_storage_connection_match_the_program()
    {
        var compose = DocumentFiles.Read(Compose);
        var package = DocumentFiles.Read("src/HibpIngest.Cli/Emulator/Azurite/package.json");
        var azurite = AzuriteVersion().Match(package).Groups["version"].Value;
        Assert.Contains($"azure-storage/azurite:{azurite}\n", compose, StringComparison.Ordinal);
        var framework = Framework().Match(DocumentFiles.Read("Directory.Build.props")).Groups["version"].Value;
        Assert.Equal(
            [$"sdk:{framework}", $"aspnet:{framework}"],
            Image().Matches(DocumentFiles.Read(Dockerfile)).Select(match => match.Groups["image"].Value));

        // A line that ends with a backslash continues after the next line's indent (yaml.org/spec/1.2.2, 7.3.1).
        var storage = Folded().Replace(Quoted().Match(compose).Groups["value"].Value, "");
        using var account = HibpIngest.Storage.Azure.StorageAccount.Open(
            storage, Microsoft.Extensions.Logging.Abstractions.NullLoggerFactory.Instance);
        Assert.Contains("devstoreaccount1", account.DisplayName, StringComparison.Ordinal);
        foreach (var (service, port) in (ReadOnlySpan<(string, int)>)[("Blob", 10000), ("Queue", 10001), ("Table", 10002)])
            Assert.Contains($"{service}Endpoint=http://storage:{port}/devstoreaccount1;", storage, StringComparison.Ordinal);
    }

    [GeneratedRegex(@"(?<![\w/.])(src|infra|tests|docs|samples)/[\w./-]+", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex RepositoryPath();

    [GeneratedRegex(@"\bHIBP_[A-Z0-9_]+", RegexOptions.None, 1000)]
    private static partial Regex Variable();

    [GeneratedRegex(@"^\| (?:HIBP|OTEL|APPLICATIONINSIGHTS)_[^|]+\|", RegexOptions.Multiline, 1000)]
    private static partial Regex SettingRow();

    [GeneratedRegex(@"\b(?:HIBP|OTEL|APPLICATIONINSIGHTS)_[A-Z0-9_]+", RegexOptions.None, 1000)]
    private static partial Regex SettingName();

    [GeneratedRegex(@"'hibp (?<words>[a-z]+(?: [a-z]+)?)'", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex NamedCommand();

    [GeneratedRegex("""^CMD \["(?<line>[^"]+)"\]""", RegexOptions.ExplicitCapture | RegexOptions.Multiline, 1000)]
    private static partial Regex DockerCommand();

    [GeneratedRegex(
        @"^    command: (?<line>(run|serve)\b.*)$|\bhost (?<line>drop .*)$", RegexOptions.ExplicitCapture | RegexOptions.Multiline, 1000)]
    private static partial Regex ComposeCommand();

    [GeneratedRegex(@"^ExecStart=/opt/hibp/hibp (?<line>.+)$", RegexOptions.ExplicitCapture | RegexOptions.Multiline, 1000)]
    private static partial Regex ServiceCommand();

    [GeneratedRegex("\"azurite\":\"(?<version>[\\d.]+)\"", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex AzuriteVersion();

    [GeneratedRegex("<TargetFramework>net(?<version>[\\d.]+)<", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Framework();

    [GeneratedRegex(@"^FROM mcr.microsoft.com/dotnet/(?<image>\S+)", RegexOptions.ExplicitCapture | RegexOptions.Multiline, 1000)]
    private static partial Regex Image();

    [GeneratedRegex("HIBP_STORAGE: \"(?<value>[^\"]+)\"", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Quoted();

    [GeneratedRegex(@"\\\n\s*", RegexOptions.None, 1000)]
    private static partial Regex Folded();
}
