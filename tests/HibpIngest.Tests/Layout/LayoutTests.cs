using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using HibpIngest.AzureStorage;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Local;
using HibpIngest.Pipeline;
using HibpIngest.Sql;
using HibpIngest.Stores;
using HibpIngest.Testing;

namespace HibpIngest.Tests.Layout;

/// <summary>
/// Tests the architecture: allowed project references, the maximum size of a port, and what the fast tests must not
/// start.
/// </summary>
public sealed partial class LayoutTests
{
    private const int MostMembersOfAPort = 12;

    private static readonly Dictionary<string, string[]> References = new()
    {
        ["HibpIngest.Core"] = [],
        // Capabilities: no adapter, no host.
        ["HibpIngest.Archives"] = ["HibpIngest.Core"],
        ["HibpIngest.AccessLog"] = ["HibpIngest.Core"],
        ["HibpIngest.AccountLog"] = ["HibpIngest.Core"],
        ["HibpIngest.Pipeline"] = ["HibpIngest.AccountLog", "HibpIngest.Archives", "HibpIngest.Core"],
        ["HibpIngest.Lookup"] = ["HibpIngest.Core"],
        ["HibpIngest.Passwords"] = ["HibpIngest.Archives", "HibpIngest.Core"],
        ["HibpIngest.Web"] = ["HibpIngest.AccessLog", "HibpIngest.Core", "HibpIngest.Lookup", "HibpIngest.Passwords"],
        ["HibpIngest.Delivery"] = ["HibpIngest.Core"],
        ["HibpIngest.Samples"] = [],
        // Adapters: no capability, no host, and no other adapter.
        ["HibpIngest.AzureStorage"] = ["HibpIngest.Core"],
        ["HibpIngest.Sql"] = ["HibpIngest.Core"],
        // Hosts.
        ["HibpIngest.Hosting"] =
            ["HibpIngest.AzureStorage", "HibpIngest.Delivery", "HibpIngest.Lookup", "HibpIngest.Passwords", "HibpIngest.Pipeline",
                "HibpIngest.Sql", "HibpIngest.Web"],
        ["HibpIngest.Functions"] = ["HibpIngest.Hosting"],
        ["HibpIngest.Functions.Api"] = ["HibpIngest.Hosting"],
        ["HibpIngest.Cli"] = ["HibpIngest.Hosting", "HibpIngest.Samples"],
    };

    private static readonly Dictionary<string, string[]> TestReferences = new()
    {
        ["HibpIngest.Testing"] = ["HibpIngest.Cli", "HibpIngest.Functions", "HibpIngest.Functions.Api"],
        // Test projects don't reference each other: shared code is in HibpIngest.Testing.
        ["HibpIngest.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.Integration.Tests"] = ["HibpIngest.Benchmarks", "HibpIngest.Testing"],
        ["HibpIngest.Deployment.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.SqlServer.Tests"] = ["HibpIngest.Testing"],
        ["HibpIngest.Benchmarks"] = ["HibpIngest.Cli", "HibpIngest.Testing"],
    };

    [Fact]
    public void Projects_know_those_that_they_may_and_no_other() => AssertReferences(References, "src");

    [Fact]
    public void Test_projects_know_what_they_share_and_not_one_another() => AssertReferences(TestReferences, "tests");

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
    [InlineData("HibpIngest.Lookup", "SqlClient", "SQLite", "Azure.", "Queue")]
    [InlineData("HibpIngest.Core", "SqlClient", "SQLite", "Azure.", "SharpZipLib")]
    [InlineData("HibpIngest.Pipeline", "SqlClient", "SQLite", "Azure.")]
    public void Capabilities_know_no_driver(string project, params string[] drivers)
    {
        var packages = XDocument.Load(RepositoryFile.Path($"src/{project}/{project}.csproj"))
            .Descendants("PackageReference").Select(package => (string)package.Attribute("Include")!).ToList();
        Assert.All(drivers, driver => Assert.DoesNotContain(packages, package => package.Contains(driver, StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("HibpIngest.Core")]
    [InlineData("HibpIngest.Archives")]
    [InlineData("HibpIngest.Lookup")]
    [InlineData("HibpIngest.Delivery")]
    [InlineData("HibpIngest.Samples")]
    public void These_know_no_web_framework(string project) =>
        Assert.Empty(XDocument.Load(RepositoryFile.Path($"src/{project}/{project}.csproj")).Descendants("FrameworkReference"));

    [Fact]
    public void Ports_are_narrow()
    {
        // The combined interfaces are for the composition root.
        var ports = typeof(IBreachDatabase).Assembly.GetExportedTypes()
            .Where(
                type => type.IsInterface && type.Namespace == typeof(IBreachDatabase).Namespace && type != typeof(IBreachDatabase)
                && type != typeof(IStoreRegister))
            .ToDictionary(
                type => type.Name, type => type.GetMembers()
                .Count(member => member is not System.Reflection.MethodInfo { IsSpecialName: true }));
        Assert.All(ports, port => Assert.True(port.Value <= MostMembersOfAPort, $"{port.Key} has {port.Value} members"));
        Assert.Empty(typeof(IBreachDatabase).GetMembers());
        Assert.Empty(typeof(IStoreRegister).GetMembers());
    }

    [Fact]
    public void A_provider_of_services_is_taken_by_hosts_and_commands_alone()
    {
        // Compiler-generated closures hold what they capture; nothing is passed to them.
        var takers =
            from type in new[] { typeof(StageRunner), typeof(StorageAccount), typeof(DatabaseServices), typeof(LocalHost) }
                .SelectMany(one => one.Assembly.GetTypes())
            where !type.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false)
            from member in type.GetMembers(
                BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static)
            where member is MethodBase method && !member.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false)
                && !method.Name.Contains('<', StringComparison.Ordinal)
                && method.GetParameters().Any(parameter => parameter.ParameterType.IsAssignableTo(typeof(IServiceProvider)))
            select $"{type.Name}.{member.Name}";
        Assert.Equal(
            ["HostServices.OpenStores", "MessageDispatcher..ctor", "StorageServices.LogsOf"], takers.Order());
    }

    [Fact]
    public void Stages_leave_failures_to_their_runner()
    {
        var stages = typeof(StageRunner).Assembly.GetTypes()
            .Where(type => type.GetInterfaces().Any(port => port.IsGenericType && port.GetGenericTypeDefinition() == typeof(IStage<,>)))
            .Select(type => type.Name).ToList();
        Assert.Equal(["CallClients", "DeliverCallbacks", "IngestBreach", "LogLoad", "MatchSubscribers", "SendNotifications", "UpsertSlice"],
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
        .. Directory.EnumerateFiles(RepositoryFile.Path(project), "*.cs", SearchOption.AllDirectories)
            .Where(file => !file.Contains($"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}", StringComparison.Ordinal))
            .Select(file => (
                Path.GetFileNameWithoutExtension(file),
                File.ReadLines(file).Where(line => !line.TrimStart().StartsWith("//", StringComparison.Ordinal))
                    .SelectMany(line => Word().Matches(line)).Select(word => word.Value).ToHashSet())),
    ];

    [GeneratedRegex(@"\w+", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Word();

    private static string[] ReferencesOf(string project) =>
        [.. XDocument.Load(project).Descendants("ProjectReference")
            .Select(reference => Path.GetFileNameWithoutExtension(((string)reference.Attribute("Include")!).Replace('\\', '/')))
            .Order(StringComparer.Ordinal)];
}
