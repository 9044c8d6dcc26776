using System.Reflection;
using System.Runtime.CompilerServices;
using System.Xml.Linq;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.LocalHost;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Matching;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Sql;

namespace HibpIngest.Tests.Layout;

public sealed class LayoutTests
{
    private const int MaxPorts = 43;
    private const int MaxMembersOfAPort = 20;
    private const int MaxConstructorParameters = 7;

    private const string TopLevelType =
        @"^(public|internal) ((static|sealed|abstract|readonly|partial|ref) )*(class|record struct|record|struct|interface|enum) "
        + @"(?<found>\w+)";

    private const string DeclaredProperty = @"(?<found>\b[A-Z]\w+) (\{ (get|set|init)|=> )|(?<=\w[?>]? )(?<found>[A-Z]\w+)[,)]";

    private static readonly Dictionary<string, string[]> References = new()
    {
        ["HibpIngest.Core"] = [],
        // Capabilities: no adapter, no host.
        ["HibpIngest.Archives"] = ["HibpIngest.Core"],
        ["HibpIngest.Journal"] = ["HibpIngest.Core"],
        ["HibpIngest.Passwords"] = ["HibpIngest.Archives", "HibpIngest.Core"],
        ["HibpIngest.Pipeline"] = ["HibpIngest.Archives", "HibpIngest.Core", "HibpIngest.Journal"],
        ["HibpIngest.Api"] = ["HibpIngest.Core", "HibpIngest.Passwords"],
        // Adapters: no capability, no host, and no other adapter.
        ["HibpIngest.Delivery"] = ["HibpIngest.Core"],
        ["HibpIngest.Storage.Azure"] = ["HibpIngest.Core"],
        ["HibpIngest.Storage.Sql"] = ["HibpIngest.Core"],
        // Hosts.
        ["HibpIngest.Hosting"] =
            ["HibpIngest.Api", "HibpIngest.Delivery", "HibpIngest.Passwords", "HibpIngest.Pipeline", "HibpIngest.Storage.Azure",
                "HibpIngest.Storage.Sql"],
        ["HibpIngest.Functions"] = ["HibpIngest.Hosting"],
        ["HibpIngest.Functions.Api"] = ["HibpIngest.Hosting"],
        ["HibpIngest.Cli"] = ["HibpIngest.Hosting"],
    };

    private static readonly Dictionary<string, string[]> TestReferences = new()
    {
        ["HibpIngest.Testing"] = ["HibpIngest.Cli", "HibpIngest.Functions", "HibpIngest.Functions.Api"],
        // Test projects don't reference each other: shared code is in HibpIngest.Testing.
        ["HibpIngest.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.Integration.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.Deployment.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.SqlServer.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.Benchmarks"] = ["HibpIngest.Cli", "HibpIngest.Testing"],
    };

    [Fact]
    public void Projects_reference_exactly_the_allowed_projects() => AssertReferences(References, "src");

    [Fact]
    public void Test_projects_reference_exactly_the_allowed_projects() => AssertReferences(TestReferences, "tests");

    [Fact]
    public void Fast_tests_start_no_process_and_no_emulator()
    {
        // These types start a process, and so do the types of HibpIngest.Testing that use them; each type is in the file of its name.
        var slow =
            new HashSet<string> { nameof(System.Diagnostics.Process), nameof(System.Diagnostics.ProcessStartInfo), "AzuriteEmulator",
                "LocalEmulator", "NodePackages" };
        var shared = Sources("tests/HibpIngest.Testing");
        for (var known = 0; known != slow.Count;)
        {
            known = slow.Count;
            slow.UnionWith([.. shared.Where(file => file.Words.Overlaps(slow)).Select(file => file.Name)]);
        }
        Assert.Superset(
            new HashSet<string> { "AzuriteFixture", "PipelineRig", "HibpProcess", "FunctionsWorker", "FunctionsHost",
                "AcceptanceContract" }, slow);
        foreach (var (file, words) in Sources("tests/HibpIngest.Tests").Where(file => file.Name != nameof(LayoutTests)))
            Assert.True(!words.Overlaps(slow), $"{file} uses {string.Join(", ", words.Intersect(slow))}, which starts a process: it "
                + "belongs to HibpIngest.Integration.Tests");
    }

    [Theory]
    [InlineData("HibpIngest.Api", "SqlClient", "SQLite", "Azure.", "Queue")]
    [InlineData("HibpIngest.Core", "SqlClient", "SQLite", "Azure.", "SharpZipLib")]
    [InlineData("HibpIngest.Pipeline", "SqlClient", "SQLite", "Azure.")]
    public void Capabilities_reference_no_driver_package(string project, params string[] drivers)
    {
        var packages = XDocument.Load(RepositoryFile.Path($"src/{project}/{project}.csproj"))
            .Descendants("PackageReference").Select(package => (string)package.Attribute("Include")!).ToList();
        Assert.All(drivers, driver => Assert.DoesNotContain(packages, package => package.Contains(driver, StringComparison.Ordinal)));
    }

    [Fact]
    public void Only_the_api_and_the_hosts_reference_the_web_framework() =>
        Assert.Equal(
            ["HibpIngest.Api", "HibpIngest.Cli", "HibpIngest.Hosting"],
            References.Keys.Where(project => XDocument.Load(RepositoryFile.Path($"src/{project}/{project}.csproj"))
                .Descendants("FrameworkReference").Any()).Order());

    [Fact]
    public void Namespaces_equal_folders() =>
        Assert.All(References.Keys.SelectMany(SourceFiles), file =>
        {
            var root = file.Project == "HibpIngest.Core" ? "HibpIngest" : file.Project;
            var expected = string.Join('.', file.Path.Split('/')[..^1].Prepend(root));
            Assert.All(
                Patterns.Find(file.Code, @"^namespace (?<found>[\w.]+);"), name => Assert.Equal((file.Path, expected), (file.Path, name)));
        });

    [Fact]
    public void Folders_of_a_project_depend_on_each_other_in_one_direction()
    {
        foreach (var project in References.Keys)
        {
            // The composition (XServices.cs, Program.cs) uses every folder, and no folder uses it.
            var files = SourceFiles(project)
                .Where(file => file.Folder.Length > 0 || !Patterns.Find(file.Path, @"^(\w+Services|Program)\.cs$").Any()).ToList();
            var folders = files
                .SelectMany(file => Patterns.Find(file.Code, TopLevelType).Select(type => (Name: type, file.Folder)))
                .ToLookup(type => type.Name, type => type.Folder);
            var dependencies =
                from file in files
                // Not members of other types, and not properties that are named after a type.
                let members = Patterns.Find(file.Code, DeclaredProperty).ToHashSet()
                from word in Patterns.Find(file.Code, @"(?<![.\w])[A-Z]\w+").Distinct()
                where folders.Contains(word) && !folders[word].Contains(file.Folder) && !members.Contains(word)
                from folder in folders[word]
                group $"{file.Path} uses {word}" by (From: file.Folder, To: folder) into edge
                select edge;
            var edges = dependencies.ToDictionary(edge => edge.Key, edge => edge.First());
            Assert.Empty(edges.Where(edge => edges.ContainsKey((edge.Key.To, edge.Key.From))).Select(edge => $"{project}: {edge.Value}"));
        }
    }

    [Fact]
    public void Ports_are_few_and_grouped_by_use()
    {
        var ports = typeof(IBreachDatabase).Assembly.GetExportedTypes()
            .Where(type => type.IsInterface && type.Namespace == typeof(IBreachDatabase).Namespace)
            .ToDictionary(
                type => type.Name, type => type.GetMembers()
                .Count(member => member is not System.Reflection.MethodInfo { IsSpecialName: true }));
        Assert.InRange(ports.Count, 1, MaxPorts);
        Assert.All(ports, port => Assert.True(port.Value <= MaxMembersOfAPort, $"{port.Key} has {port.Value} members"));
        // The combined interface is for the composition root.
        Assert.Empty(typeof(IBreachDatabase).GetMembers());
    }

    [Fact]
    public void Constructors_take_at_most_seven_parameters() =>
        Assert.Empty(
            from project in References.Keys
            from type in Assembly.Load(project == "HibpIngest.Cli" ? "hibp" : project).GetTypes()
                // Records are data.
            where type is { IsClass: true } && type.GetMethod("<Clone>$") is null && !type.IsDefined(typeof(CompilerGeneratedAttribute))
            from constructor in type.GetConstructors(
                BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly)
            where constructor.GetParameters().Length > MaxConstructorParameters
            select $"{type.FullName} takes {constructor.GetParameters().Length}");

    [Fact]
    public void Only_hosts_and_commands_take_an_IServiceProvider()
    {
        // Compiler-generated closures hold what they capture; nothing is passed to them.
        var takers =
            from type in new[] { typeof(StageRunner), typeof(StorageAccount), typeof(DatabaseServices), typeof(HeartbeatService) }
                .SelectMany(one => one.Assembly.GetTypes())
            where !type.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false)
            from member in type.GetMembers(
                BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static)
            where member is MethodBase method && !member.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false)
                && !method.Name.Contains('<', StringComparison.Ordinal)
                && method.GetParameters().Any(parameter => parameter.ParameterType.IsAssignableTo(typeof(IServiceProvider)))
            select $"{type.Name}.{member.Name}";
        Assert.Equal(["HostServices.OpenStores", "MessageDispatcher..ctor", "StorageServices.LogsOf"], takers.Order());
    }

    [Fact]
    public void Stages_catch_no_general_exception_and_call_no_other_stage()
    {
        var stages = typeof(StageRunner).Assembly.GetTypes()
            .Where(type => type.GetInterfaces().Any(port => port.IsGenericType && port.GetGenericTypeDefinition() == typeof(IStage<,>)))
            .Select(type => type.Name).ToList();
        Assert.Equal(["CallClients", "DeliverCallbacks", "IngestBreach", "MatchSubscribers", "SendNotifications", "UpsertSlice",
                "WriteJournal"],
            stages.Order());
        Assert.All(stages, stage =>
        {
            var text = File.ReadAllText(
                Assert.Single(
                    Directory.GetFiles(RepositoryFile.Path("src/HibpIngest.Pipeline"), $"{stage}.cs", SearchOption.AllDirectories)));
            Assert.DoesNotContain("catch (Exception", text, StringComparison.Ordinal);
            Assert.All(stages.Where(other => other != stage), other => Assert.DoesNotContain($"{other}.", text, StringComparison.Ordinal));
        });
    }

    private static void AssertReferences(Dictionary<string, string[]> references, string folder)
    {
        var found = Directory.GetDirectories(RepositoryFile.Path(folder))
            .SelectMany(project => Directory.GetFiles(project, "*.csproj"))
            .ToDictionary(file => Path.GetFileNameWithoutExtension(file), ReferencesOf);
        Assert.Equal(references.Keys.Order(), found.Keys.Order());
        Assert.All(
            references, expected => Assert.Equal(
                (expected.Key, string.Join(' ', expected.Value)), (expected.Key, string.Join(' ', found[expected.Key]))));
    }

    /// <summary>Returns the words of each file's code, without comments.</summary>
    private static List<(string Name, HashSet<string> Words)> Sources(string project) =>
    [
        .. RepositoryFile.Code(project)
            .Select(file => (
                Path.GetFileNameWithoutExtension(file),
                File.ReadLines(file).Where(line => !line.TrimStart().StartsWith("//", StringComparison.Ordinal))
                    .SelectMany(line => Patterns.Find(line, @"\w+")).ToHashSet())),
    ];

    /// <summary>Returns the source files of a project, without their comments and string literals.</summary>
    private static IEnumerable<(string Project, string Path, string Folder, string Code)> SourceFiles(string project) =>
        from file in RepositoryFile.Code($"src/{project}")
        let path = Path.GetRelativePath(RepositoryFile.Path($"src/{project}"), file).Replace('\\', '/')
        let parts = path.Split('/')
        let code = Patterns.Replace(File.ReadAllText(file), @"//[^\n]*|""([^""\\\n]|\\.)*""", "")
        select (project, path, parts.Length == 1 ? "" : parts[0], code);

    private static string[] ReferencesOf(string project) =>
        [.. XDocument.Load(project).Descendants("ProjectReference")
            .Select(reference => Path.GetFileNameWithoutExtension(((string)reference.Attribute("Include")!).Replace('\\', '/')))
            .Order(StringComparer.Ordinal)];
}
