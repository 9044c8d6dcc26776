using HibpIngest.Cli.Emulator;

namespace HibpIngest.Deployment.Tests.Telemetry;

/// <summary>
/// Tests the queries of the workbook, the alerts and the documents: Kusto accepts them, and they query what the code
/// emits.
/// </summary>
public sealed class QueryTests
{
    // learn.microsoft.com/azure/azure-monitor/reference/tables/appmetrics, apprequests, appdependencies, apptraces;
    // the common columns come first.
    private static readonly Dictionary<string, string> Common = new()
    {
        ["TimeGenerated"] = "datetime",
        ["AppRoleInstance"] = "string",
        ["AppRoleName"] = "string",
        ["ItemCount"] = "int",
        ["OperationId"] = "string",
        ["OperationName"] = "string",
        ["ParentId"] = "string",
        ["Properties"] = "dynamic",
    };

    private static readonly Dictionary<string, Dictionary<string, string>> Tables = new()
    {
        ["AppMetrics"] = With(("Name", "string"), ("Max", "real"), ("Min", "real"), ("Sum", "real")),
        ["AppRequests"] = With(("Name", "string"), ("Id", "string"), ("DurationMs", "real"), ("Success", "bool"), ("ResultCode", "string")),
        ["AppDependencies"] = With(
            ("Name", "string"), ("Id", "string"), ("DurationMs", "real"), ("Success", "bool"), ("ResultCode", "string"),
            ("DependencyType", "string")),
        ["AppTraces"] = With(("Message", "string"), ("SeverityLevel", "int")),
    };

    /// <summary>Quoted texts that aren't names: values of columns, and words of commands and messages.</summary>
    private static readonly string[] Texts =
        ["seen before", ", load ", "", "hibp load requeue \\\"", "\\\" --slice ", "\\\" --failed", "hibp load resume ", "hibp journal "
            + "write --load ",
            "{\\\"version\\\":1,\\\"load\\\":", ",\\\"slice\\\":", "}", "/api/v3/breacheddomain/{domain?}"];

    private static readonly IReadOnlyDictionary<string, string> Queries = ReadQueries();

    [Fact]
    public async Task Queries_parse_and_use_only_known_columns()
    {
        var folder = Path.GetDirectoryName(
            RepositoryFile.Path(Path.Combine("tests", "HibpIngest.Deployment.Tests", "Telemetry", "kusto", "package.json")))!;
        var parser = Path.Combine(folder, "node_modules", "@kusto", "language-service-next", "package.json");
        await NodePackages.InstallAsync(folder, "Kusto's parser", parser, progress: null, CancellationToken.None);
        var misspelt = new Dictionary<string, string>
        {
            ["misspelt column"] = "AppMetrics | where Nam == 'x'",
            ["misspelt operator"] = "AppMetrics | sumarize count()",
        };
        using var input = new TemporaryFolder();
        var asked = input.Write(
            "asked.json", JsonSerializer.Serialize(new { tables = Tables, queries = Queries.Concat(misspelt).ToDictionary() }));
        var (output, _) = await ExternalProgram.RunAsync("bash", "-c", $"node '{folder}/check-queries.cjs' < '{asked}'");
        var found = JsonSerializer.Deserialize<Dictionary<string, string[]>>(output)!;
        Assert.Equal(Queries.Count + 2, found.Count);
        Assert.All(
            found, one => Assert.True(one.Value.Length > 0 == misspelt.ContainsKey(one.Key), $"{one.Key}: {string.Join("; ", one.Value)}"));
    }

    [Fact]
    public void Queries_use_only_names_that_the_code_emits()
    {
        HashSet<string> known =
        [
            .. Texts, .. Constants.Of(typeof(TelemetryNames.Spans)), .. Constants.Of(typeof(TelemetryNames.Tags)),
            .. Constants.Of(typeof(TelemetryNames.Instruments)), .. Constants.Of(typeof(TelemetryNames.Logs)),
            $"{TelemetryNames.Logs.LoadSeen}", TelemetryNames.Stopped, QueueNames.PoisonSuffix, .. States<LoadState>(),
            .. States<SliceState>(), .. Enum.GetNames<AccountRule>(),
        ];
        foreach (var (name, query) in Queries)
        {
            var unknown = Literals(query).Where(literal => !known.Contains(literal)).ToList();
            Assert.True(unknown.Count == 0, $"{name} uses unknown '{string.Join("', '", unknown)}'");
        }
    }

    [Fact]
    public void Workbook_shows_every_instrument_and_span()
    {
        var shown = Queries.Values.SelectMany(Literals).ToHashSet();
        Assert.Equal([], Constants.Of(typeof(TelemetryNames.Instruments)).Where(name => !shown.Contains(name)));
        Assert.Equal([], Constants.Of(typeof(TelemetryNames.Spans)).Where(name => !shown.Contains(name)));
    }

    private static IEnumerable<string> States<T>()
        where T : struct, Enum => Enum.GetNames<T>().Select(name => name.ToLowerInvariant());

    private static Dictionary<string, string> With(params (string Name, string Type)[] columns) =>
        Common.Concat(columns.ToDictionary(column => column.Name, column => column.Type)).ToDictionary();

    private static Dictionary<string, string> ReadQueries()
    {
        var infra = Path.GetDirectoryName(RepositoryFile.Path(Path.Combine("infra", "workbook.json")))!;
        var queries = Directory.GetFiles(Path.Combine(infra, "alerts"), "*.kql")
            .ToDictionary(
                file => Path.GetFileName(file), file => string.Join(
                    '\n', File.ReadLines(file).Where(line => !line.StartsWith("//", StringComparison.Ordinal))));
        Assert.Equal(6, queries.Count);
        using var workbook = JsonDocument.Parse(File.ReadAllText(Path.Combine(infra, "workbook.json")));
        foreach (var item in
            workbook.RootElement.GetProperty("items").EnumerateArray().Where(item => item.GetProperty("type").GetInt32() == 3))
            queries.Add(item.GetProperty("name").GetString()!, item.GetProperty("content").GetProperty("query").GetString()!);
        foreach (var document in DocumentFiles.All)
        {
            foreach (var (index, query) in DocumentFiles.Snippets(document, "kusto").Index())
                queries.Add($"{document}, query {index + 1}", query);
        }
        Assert.Contains(queries.Keys, name => name.StartsWith("docs/", StringComparison.Ordinal));
        return queries;
    }

    private static IEnumerable<string> Literals(string query) => Patterns.Find(query, @"""(?<found>([^""\\]|\\.)*)""");
}
