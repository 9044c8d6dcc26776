using HibpIngest.Cli.Commands;

namespace HibpIngest.Tests.Documents;

/// <summary>
/// Tests that every path, setting and command named by the Dockerfile, the compose file and the service exists.
/// Images and services themselves are neither built nor run.
/// </summary>
public sealed class MachineFilesTests
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
        var named = Patterns.Find(DocumentFiles.Read(file), @"(?<![\w/.])(src|infra|tests|docs|samples)/[\w./-]+")
            .Select(path => path.TrimEnd('.')).Distinct().ToList();
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
            var named = Patterns.Find(DocumentFiles.Read(file), @"\bHIBP_[A-Z0-9_]+").Except(["HIBP_LOG", "HIBP_LOG_STORAGE"]).ToList();
            Assert.NotEmpty(named);
            Assert.All(named, name => Assert.True(ReadmeTests.IsSetting(name), $"{file}: the setting {name} doesn't exist"));
        }
    }

    [Fact]
    public void Compose_passes_every_documented_setting()
    {
        // Not passed on: the file sets them itself, or they are the emulator's, which is an image.
        string[] excluded = ["HIBP_STORAGE", "HIBP_DATABASE", "HIBP_HOME", "HIBP_EMULATOR_DIR", "HIBP_EMULATOR_PORT"];
        const string Name = "(HIBP|OTEL|APPLICATIONINSIGHTS)_";
        var documented = Patterns.Find(DocumentFiles.Read("docs/settings.md"), @$"^\| {Name}[^|]+\|")
            .SelectMany(row => Patterns.Find(row, @$"\b{Name}[A-Z0-9_]+")).Except(excluded).Distinct().ToList();
        Assert.True(documented.Count > 60, $"{documented.Count} settings");
        var compose = DocumentFiles.Read(Compose);
        Assert.DoesNotContain(documented, name => !compose.Contains($"\n      {name}: ${{{name}:-}}\n", StringComparison.Ordinal));
    }

    [Fact]
    public void Commands_named_in_comments_exist()
    {
        var named = DocumentFiles.Read(Compose) + DocumentFiles.Read(Dockerfile) + DocumentFiles.Read(Service);
        var commands = Patterns.Find(named, "'hibp (?<found>[a-z]+( [a-z]+)?)'").ToList();
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
            .. Patterns.Find(DocumentFiles.Read(Dockerfile), """^CMD \["(?<found>[^"]+)"\]"""),
            .. Patterns.Find(DocumentFiles.Read(Compose), @"^    command: (?<found>(run|serve)\b.*)$|\bhost (?<found>drop .*)$"),
            .. Patterns.Find(DocumentFiles.Read(Service), @"^ExecStart=/opt/hibp/hibp (?<found>.+)$"),
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
        var azurite = Patterns.Find(package, "\"azurite\": \"(?<found>[\\d.]+)\"").First();
        Assert.Contains($"azure-storage/azurite:{azurite}\n", compose, StringComparison.Ordinal);
        var framework = Patterns.Find(DocumentFiles.Read("Directory.Build.props"), @"<TargetFramework>net(?<found>[\d.]+)<").First();
        Assert.Equal(
            [$"sdk:{framework}", $"aspnet:{framework}"],
            Patterns.Find(DocumentFiles.Read(Dockerfile), @"^FROM mcr.microsoft.com/dotnet/(?<found>\S+)"));

        // A line that ends with a backslash continues after the next line's indent (yaml.org/spec/1.2.2, 7.3.1).
        var storage = string.Concat(
            Patterns.Find(compose, "HIBP_STORAGE: \"(?<found>[^\"]+)\"").First().Split("\\\n").Select(line => line.TrimStart()));
        using var account = HibpIngest.Storage.Azure.StorageAccount.Open(
            storage, Microsoft.Extensions.Logging.Abstractions.NullLoggerFactory.Instance);
        Assert.Contains("devstoreaccount1", account.DisplayName, StringComparison.Ordinal);
        foreach (var (service, port) in (ReadOnlySpan<(string, int)>)[("Blob", 10000), ("Queue", 10001), ("Table", 10002)])
            Assert.Contains($"{service}Endpoint=http://storage:{port}/devstoreaccount1;", storage, StringComparison.Ordinal);
    }
}
