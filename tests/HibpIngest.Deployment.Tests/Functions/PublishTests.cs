using System.Text.Json.Nodes;
using HibpIngest.Functions;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Passwords;
using HibpIngest.Pipeline;
using HibpIngest.Web;

namespace HibpIngest.Deployment.Tests.Functions;

/// <summary>
/// The published folder is what the host expects, and its files say what the program and the contract
/// say.
/// </summary>
public sealed class PublishTests
{
    private static readonly Dictionary<string, string> Queues = new()
    {
        ["ResumeIngest"] = QueueNames.Ingest,
        ["UpsertSlice"] = QueueNames.Slices,
        ["MatchSubscribers"] = QueueNames.Match,
        ["SendNotifications"] = QueueNames.Mail,
        ["LogLoad"] = QueueNames.Log,
        ["CallClients"] = QueueNames.Calls,
        ["DeliverCallbacks"] = QueueNames.Callbacks,
        ["ImportPasswords"] = QueueNames.PasswordsImport,
        ["AppendPasswords"] = QueueNames.PasswordsAppend,
        ["RollUpAccess"] = QueueNames.AccessRollUp,
    };

    [Fact]
    public async Task It_holds_an_executable_and_exactly_the_functions()
    {
        var folder = await PublishedApp.FolderAsync();
        // A host that is started in it finds the pipeline's, and of the web's none: it looks one folder deep.
        Assert.Equal(
            ["AppendPasswords", "CallClients", "DeliverCallbacks", "Health", "ImportPasswords", "IngestBreach", "LogLoad",
                "MatchSubscribers", "PlanPasswords", "ResumeIngest", "RollUpAccess", "SendNotifications", "Sweep",
                "UpsertSlice", "web/Web"],
            Directory.GetFiles(folder, "function.json", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(folder, Path.GetDirectoryName(file)!)).Order(StringComparer.Ordinal));
        Assert.True(File.Exists(await PublishedApp.ExecutableAsync()));
        // Self-contained: the runtime is in it, and the native parts.
        Assert.All(
            ["libcoreclr.so", "libe_sqlite3.so", "Microsoft.AspNetCore.Server.Kestrel.Core.dll"], file => Assert.True(
                File.Exists(Path.Combine(folder, file)), file));
        Assert.False(File.Exists(Path.Combine(folder, "local.settings.json")));
    }

    [Theory]
    [InlineData("IngestBreach", "breach/{name}")]
    [InlineData("PlanPasswords", "passwords-import/{name}")]
    public async Task A_blob_is_announced_by_event_grid_and_handed_over_by_reference(string function, string path)
    {
        // A second binding would have the host post the whole blob.
        var binding = (await ReadAsync(function))["bindings"]!.AsArray().Single()!;
        Assert.Equal(("blobTrigger", path, "EventGrid", "true"),
            ((string?)binding["type"], (string?)binding["path"], (string?)binding["source"],
                (string?)binding["properties"]!["supportsDeferredBinding"]));
        Assert.Equal("blob", (string?)binding["name"]);
    }

    [Fact]
    public async Task Each_queue_of_the_pipeline_has_one_function()
    {
        Assert.Equal(QueueNames.All.Order(), Queues.Values.Order());
        foreach (var (function, queue) in Queues)
        {
            var binding = (await ReadAsync(function))["bindings"]!.AsArray().Single()!;
            Assert.Equal(
                ("queueTrigger", "message", queue), ((string?)binding["type"], (string?)binding["name"], (string?)binding["queueName"]));
        }
    }

    [Fact]
    public async Task The_sweep_runs_each_minute_and_health_is_anonymous()
    {
        var timer = (await ReadAsync("Sweep"))["bindings"]!.AsArray().Single()!;
        Assert.Equal(
            ("timerTrigger", "timer", "0 * * * * *"), ((string?)timer["type"], (string?)timer["name"], (string?)timer["schedule"]));
        // Exactly one http input and one output: otherwise requests are not forwarded as they are.
        var http = (await ReadAsync("Health"))["bindings"]!.AsArray();
        Assert.Equal(["httpTrigger", "http"], http.Select(one => (string?)one!["type"]));
        Assert.Equal(
            ("anonymous", "health", "get"),
            ((string?)http[0]!["authLevel"], (string?)http[0]!["route"], (string?)http[0]!["methods"]!.AsArray().Single()));
    }

    [Fact]
    public async Task Host_json_has_the_rules_that_the_pipeline_reckons_with()
    {
        var host = JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(await PublishedApp.FolderAsync(), "host.json")))!;
        Assert.True((bool)host["customHandler"]!["enableForwardingHttpRequest"]!);
        var queues = host["extensions"]!["queues"]!;
        Assert.Equal((16, 8, new PipelineOptions().MaxTries, "00:00:30", "base64"),
            ((int)queues["batchSize"]!, (int)queues["newBatchThreshold"]!, (int)queues["maxDequeueCount"]!,
                (string?)queues["visibilityTimeout"], (string?)queues["messageEncoding"]));
        Assert.Equal(
            (1, 5), (
                (int)host["extensions"]!["blobs"]!["maxDegreeOfParallelism"]!, (int)host["extensions"]!["blobs"]!["poisonBlobThreshold"]!));
        // The largest budget that docs/deploying.md names, and what an ingest may need beyond it.
        Assert.True(
            TimeSpan.Parse((string)host["functionTimeout"]!, System.Globalization.CultureInfo.InvariantCulture) > TimeSpan.FromMinutes(
                25 + 1.5 + 1));
    }

    [Fact]
    public async Task The_web_takes_every_path_by_named_methods_and_its_host_passes_requests_on_unread()
    {
        var bindings = (await ReadAsync("web/Web"))["bindings"]!.AsArray();
        // Exactly one http input and one output: otherwise requests are not passed on as they are.
        Assert.Equal(["httpTrigger", "http"], bindings.Select(one => (string?)one!["type"]));
        Assert.Equal(("anonymous", "{*path}"), ((string?)bindings[0]!["authLevel"], (string?)bindings[0]!["route"]));
        Assert.Equal(WebFunction.Methods, bindings[0]!["methods"]!.AsArray().Select(one => ((string)one!).ToUpperInvariant()));

        var host = await ReadHostAsync("web/host.json");
        Assert.Equal("", (string?)host["extensions"]!["http"]!["routePrefix"]); // else the API would be below /api/api
        Assert.True((bool)host["customHandler"]!["enableProxyingHttpRequest"]!);
        Assert.Null(host["customHandler"]!["enableForwardingHttpRequest"]);
        Assert.Equal(
            (string?)(await ReadHostAsync("host.json"))["customHandler"]!["description"]!["defaultExecutablePath"],
            (string?)host["customHandler"]!["description"]!["defaultExecutablePath"]);
        // A path holds an account: the categories and dependencies that hold paths are off, by whatever they are sent.
        var levels = host["logging"]!["logLevel"]!;
        Assert.Equal(
            ("None", "Warning", "None"),
            ((string?)levels["Host.Results"], (string?)levels[$"Function.{WebFunction.Name}"], (string?)levels["Yarp"]));
        Assert.False((bool)host["logging"]!["applicationInsights"]!["enableDependencyTracking"]!);
    }

    [Fact]
    public void The_example_names_every_setting_with_its_default_and_the_documents_explain_them()
    {
        var documents = DocumentFiles.ReadAll();
        var values = JsonNode.Parse(File.ReadAllText(RepositoryFile.Path("local.settings.example.json")))!["Values"]!.AsObject()
            .ToDictionary(value => value.Key, value => (string)value.Value!);
        Assert.All(values.Keys, name => Assert.Contains(name, documents, StringComparison.Ordinal));
        var settings = HandlerSettings.Read(values);
        Assert.Empty(settings.UnknownVariables);
        // Each option as the log has it (HIBP_BATCHROWS=20000, ...), with nothing set but what has no default.
        var required = values.Where(value => value.Key is "HIBP_STORAGE" or "HIBP_DATABASE" or "HIBP_MAIL").ToDictionary();
        Assert.Equal(HandlerSettings.Read(required).Describe(), settings.Describe());
        Assert.All(settings.Describe().Split(", "), option => Assert.Contains(option.Split('=')[0], values.Keys));
        Assert.All(
            (string[])
            [
                TelemetryExport.ApplicationInsightsVariable, TelemetryExport.OwnApplicationInsightsVariable, TelemetryExport.OtlpVariable,
            ],
            name => Assert.Equal("", values[name]));

        // The web's too.
        Assert.True(HandlerSettings.IsIngest(values));
        values[HandlerSettings.AppVariable] = HandlerSettings.WebApp;
        var (defaults, example) = (new WebOptions(), HandlerSettings.ReadWeb(values).Web);
        foreach (var option in typeof(WebOptions).GetProperties())
        {
            Assert.Contains(PipelineSettings.VariableOf(option.Name), values.Keys);
            Assert.Equal((option.Name, option.GetValue(defaults)), (option.Name, option.GetValue(example)));
        }
        foreach (var option in typeof(PasswordOptions).GetProperties())
        {
            Assert.Contains(PipelineSettings.VariableOf(option.Name), values.Keys);
            Assert.Equal(
                (option.Name, option.GetValue(new PasswordOptions())),
                (option.Name, option.GetValue(HandlerSettings.ReadWeb(values).Passwords)));
        }
    }

    private static async Task<JsonNode> ReadHostAsync(string file) =>
        JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(await PublishedApp.FolderAsync(), file)))!;

    private static async Task<JsonNode> ReadAsync(string function) =>
        JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(await PublishedApp.FolderAsync(), function, "function.json")))!;
}
