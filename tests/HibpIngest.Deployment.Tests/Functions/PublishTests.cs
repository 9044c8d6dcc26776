using System.IO.Compression;
using System.Text.Json.Nodes;
using System.Xml.Linq;
using HibpIngest.Api.Endpoints;
using HibpIngest.Api.Settings;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Deployment.Tests.Functions;

/// <summary>Tests that the published folders and packages are what the host expects, and that their files match the code.</summary>
public sealed class PublishTests
{
    /// <summary>Files that a host reads (learn.microsoft.com/azure/azure-functions/dotnet-isolated-process-guide#deployment).</summary>
    private static readonly string[] ReadByTheHost = ["host.json", "functions.metadata", "worker.config.json", "extensions.json"];

    [Theory]
    [InlineData(false, "host.json")]
    [InlineData(true, "src/HibpIngest.Functions.Api/host.json")]
    public async Task Package_has_the_host_files_at_its_root_and_only_the_functions_of_its_app(bool isApi, string host)
    {
        var app = await (isApi ? PublishedApp.ApiAsync() : PublishedApp.PipelineAsync());
        var functions = isApi ? AppFunctions.Api : AppFunctions.Pipeline;
        using var package = await ZipFile.OpenReadAsync(app.Package);
        var names = package.Entries.Select(entry => entry.FullName).ToHashSet();
        Assert.Superset(ReadByTheHost.ToHashSet(), names);
        Assert.Contains(names, name => name.StartsWith(".azurefunctions/", StringComparison.Ordinal));
        Assert.Contains(isApi ? "HibpIngest.Functions.Api.dll" : "HibpIngest.Functions.dll", names);
        Assert.DoesNotContain(names, name => Path.GetFileName(name).StartsWith("local.settings", StringComparison.Ordinal));
        Assert.Equal(DocumentFiles.Read(host), await File.ReadAllTextAsync(Path.Combine(app.Folder, "host.json")));
        var metadata = JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(app.Folder, "functions.metadata")))!.AsArray();
        Assert.Equal(
            functions.Keys.Order(StringComparer.Ordinal),
            metadata.Select(function => (string)function!["name"]!).Order(StringComparer.Ordinal));
        // The host starts "dotnet": no file of a package made on Windows would be executable.
        var worker = JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(app.Folder, "worker.config.json")))!["description"]!;
        Assert.Equal(("dotnet", "dotnet-isolated"), ((string?)worker["defaultExecutablePath"], (string?)worker["language"]));
    }

    [Fact]
    public void Published_apps_are_compiled_ahead_of_time() =>
        Assert.Equal("true", XDocument.Load(RepositoryFile.Path("src/FunctionsApp.props")).Descendants("PublishReadyToRun").Single().Value);

    [Fact]
    public async Task Host_json_has_the_settings_that_the_pipeline_relies_on()
    {
        var host = await ReadHostAsync(await PublishedApp.PipelineAsync());
        var queues = host["extensions"]!["queues"]!;
        Assert.Equal((16, 8, new RetryOptions().MaxTries, "00:00:30", "base64"),
            ((int)queues["batchSize"]!, (int)queues["newBatchThreshold"]!, (int)queues["maxDequeueCount"]!,
                (string?)queues["visibilityTimeout"], (string?)queues["messageEncoding"]));
        Assert.Equal(
            (1, 5), (
                (int)host["extensions"]!["blobs"]!["maxDegreeOfParallelism"]!, (int)host["extensions"]!["blobs"]!["poisonBlobThreshold"]!));
        // The largest budget in docs/deploying.md, and what an ingest may need beyond it.
        Assert.True(
            TimeSpan.Parse((string)host["functionTimeout"]!, System.Globalization.CultureInfo.InvariantCulture) > TimeSpan.FromMinutes(
                25 + 1.5 + 1));
    }

    [Fact]
    public async Task Host_of_the_web_app_logs_no_path()
    {
        var host = await ReadHostAsync(await PublishedApp.ApiAsync());
        Assert.Equal("", (string?)host["extensions"]!["http"]!["routePrefix"]); // otherwise the API would be below /api/api
        // A path contains an account: categories and dependencies that contain paths are off for every exporter.
        var levels = host["logging"]!["logLevel"]!;
        Assert.Equal(
            ("None", "Warning", "None"),
            ((string?)levels["Host.Results"], (string?)levels["Function.Web"], (string?)levels["Yarp"]));
        Assert.False((bool)host["logging"]!["applicationInsights"]!["enableDependencyTracking"]!);
    }

    [Fact]
    public void Example_settings_have_every_option_with_its_default_and_are_documented()
    {
        var documents = DocumentFiles.ReadAll();
        var values = JsonNode.Parse(DocumentFiles.Read("local.settings.example.json"))!["Values"]!.AsObject()
            .ToDictionary(value => value.Key, value => (string)value.Value!);
        Assert.All(values.Keys, name => Assert.Contains(name, documents, StringComparison.Ordinal));
        var settings = FunctionsAppSettings.ReadPipeline(values);
        Assert.Empty(settings.UnknownVariables);
        // Each option in the log's format (HIBP_BATCHROWS=20000, ...), with only the required settings set.
        var required = values.Where(value => value.Key is "HIBP_STORAGE" or "HIBP_DATABASE" or "HIBP_MAIL").ToDictionary();
        Assert.Equal(FunctionsAppSettings.ReadPipeline(required).Describe(), settings.Describe());
        Assert.All(settings.Describe().Split(", "), option => Assert.Contains(option.Split('=')[0], values.Keys));
        Assert.All(
            (string[])
            [
                TelemetryExport.ApplicationInsightsVariable, TelemetryExport.OwnApplicationInsightsVariable, TelemetryExport.OtlpVariable,
            ],
            name => Assert.Equal("", values[name]));

        // The API's settings too.
        var api = FunctionsAppSettings.ReadApi(values);
        AssertDefaults(new WebOptions(), api.Get<WebOptions>());
        AssertDefaults(new PasswordOptions(), api.Get<PasswordOptions>());

        void AssertDefaults<T>(T defaults, T example) => Assert.All(typeof(T).GetProperties(), option =>
        {
            Assert.Contains(HibpOptions.VariableOf(option), values.Keys);
            Assert.Equal(option.GetValue(defaults), option.GetValue(example));
        });
    }

    private static async Task<JsonNode> ReadHostAsync(PublishedApp app) =>
        JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(app.Folder, "host.json")))!;
}
