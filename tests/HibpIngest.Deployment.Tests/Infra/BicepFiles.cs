using System.Reflection;
using System.Runtime.InteropServices;

namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>
/// The templates from Bicep's compiler: compiled, formatted, and predicted, with every expression evaluated that
/// doesn't need Azure (<c>bicep snapshot</c>). A test run compiles once, in a copy of infra; nothing is downloaded,
/// because all modules are local files.
/// </summary>
internal static class BicepFiles
{
    /// <summary>The largest deployment: full-power.bicepparam with a second region and every optional principal.</summary>
    public const string Everything = "full-power";

    /// <summary>
    /// The smallest deployment: smallest.bicepparam without a web app, and so without a second one, although it is
    /// named.
    /// </summary>
    public const string Least = "smallest";

    /// <summary>The id of the resource group of predicted deployments.</summary>
    public const string ResourceGroup = $"/subscriptions/{Subscription}/resourceGroups/breaches";

    private const string Subscription = "11111111-1111-1111-1111-111111111111";

    private static readonly Lazy<Task<Compiled>> All = new(CompileAsync);

    /// <summary>True if the compiler runs here: its package is for Linux on x64.</summary>
    public static bool CanCompile => OperatingSystem.IsLinux() && RuntimeInformation.ProcessArchitecture == Architecture.X64;

    /// <summary>Returns the compiler's output, which is empty without errors and warnings, and its result for each file.</summary>
    public static Task<Compiled> CompiledAsync() => All.Value;

    /// <summary>Returns the ARM template of a Bicep file.</summary>
    public static async Task<JsonElement> TemplateAsync(string file) => (await All.Value).Templates[file];

    /// <summary>Returns the resources that a deployment would create.</summary>
    public static async Task<IReadOnlyList<JsonElement>> ResourcesAsync(string deployment, string type = "") =>
    [
        .. (await All.Value).Snapshots[deployment].GetProperty("predictedResources").EnumerateArray()
            .Where(resource => type.Length == 0 || resource.GetProperty("type").GetString() == type),
    ];

    /// <summary>Returns the site of an app: app, web or web2.</summary>
    public static async Task<JsonElement> SiteAsync(string deployment, string app) => OfApp(
        await ResourcesAsync(deployment, "Microsoft.Web/sites"), app);

    /// <summary>Returns an app's settings: an object, or the expression of one.</summary>
    public static async Task<JsonElement> SettingsAsync(string deployment, string app) => OfApp(
        await ResourcesAsync(deployment, "Microsoft.Web/sites/config"), app).GetProperty("properties");

    /// <summary>Returns a setting that is known before the deployment.</summary>
    public static async Task<string?> SettingAsync(string deployment, string app, string name)
    {
        var settings = await SettingsAsync(deployment, app);
        return settings.ValueKind == JsonValueKind.Object
            ? settings.GetProperty(name).GetString() : settings.GetString()!.Split($"'{name}', '")[1].Split('\'')[0];
    }

    /// <summary>Returns an output of a deployment.</summary>
    public static async Task<string?> OutputAsync(string deployment, string name) =>
        (await All.Value).Snapshots[deployment].GetProperty("outputs").GetProperty(name).GetString();

    private static async Task<Compiled> CompileAsync()
    {
        using var folder = new TemporaryFolder();
        var sources = Path.Combine(folder.Path, "sources");
        var formatted = Path.Combine(folder.Path, "formatted");
        var templates = Path.Combine(folder.Path, "templates");
        foreach (var file in InfraFiles.List(".bicep", ".bicepparam", ".kql", ".json"))
        {
            foreach (var copy in new[] { sources, formatted })
            {
                var target = Path.Combine(copy, Path.GetRelativePath("infra", file));
                Directory.CreateDirectory(Path.GetDirectoryName(target)!);
                File.Copy(Path.Combine(DocumentFiles.Root, file), target);
            }
        }

        var printed = await Task.WhenAll(
            BicepAsync(["build", "--no-restore", "--pattern", $"{sources}/**/*.bicep", "--outdir", templates]),
            BicepAsync(["format", "--pattern", $"{formatted}/**/*.bicep*"]),
            SnapshotAsync(sources, Everything, withWeb: true),
            SnapshotAsync(sources, Least, withWeb: false));
        return new Compiled(
            string.Concat(printed),
            InfraFiles.List(".bicep", ".bicepparam").ToDictionary(
                file => file, file => File.ReadAllText(Path.Combine(formatted, Path.GetRelativePath("infra", file)))),
            Parse(
                InfraFiles.List(".bicep"),
                file => Path.ChangeExtension(Path.Combine(templates, Path.GetRelativePath("infra", file)), "json")),
            Parse([Everything, Least], name => Path.Combine(sources, $"{name}.snapshot.json")));
    }

    private static Task<string> SnapshotAsync(string sources, string parameters, bool withWeb) =>
        BicepAsync(
            [
                "snapshot", Path.Combine(sources, $"{parameters}.bicepparam"), "--mode", "overwrite", "--resource-group", "breaches",
                "--subscription-id", Subscription, "--location", "westeurope",
            ],
            new Dictionary<string, string?>
            {
                ["DEPLOY_SQL_ADMIN_NAME"] = "admins",
                ["DEPLOY_SQL_ADMIN_ID"] = "administrator",
                ["DEPLOY_OPERATOR_ID"] = "operator",
                ["DEPLOY_WEB"] = withWeb ? "true" : "false",
                ["DEPLOY_SECOND_LOCATION"] = "eastus2",
                ["DEPLOY_DROPPER_ID"] = withWeb ? "dropper" : "",
                ["DEPLOY_PASSWORDS_DROPPER_ID"] = withWeb ? "dropper of hashes" : "",
                ["DEPLOY_ALERT_EMAIL"] = withWeb ? "operators@contoso.example" : "",
                ["HIBP_MAIL"] = "smtp://mail.contoso.example",
            });

    private static JsonElement OfApp(IEnumerable<JsonElement> resources, string app) => Assert.Single(
        resources, one => one.GetProperty("name").GetString()!.StartsWith($"hibp-{app}-", StringComparison.Ordinal));

    private static async Task<string> BicepAsync(string[] arguments, Dictionary<string, string?>? environment = null)
    {
        var bicep = typeof(BicepFiles).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(one => one.Key == "Bicep").Value!;
        // NuGet gives files that it unpacks on Linux the owner's execute permission.
        var (exitCode, output, error) = await InfraFiles.RunAsync(bicep, arguments, environment);
        return exitCode == 0 ? output + error : $"bicep {string.Join(' ', arguments)} ended with {exitCode}: {output}{error}";
    }

    /// <summary>Reads the compiler's files; after an error there are none.</summary>
    private static Dictionary<string, JsonElement> Parse(IEnumerable<string> names, Func<string, string> file) =>
        names.Where(name => File.Exists(file(name)))
            .ToDictionary(name => name, name => JsonDocument.Parse(File.ReadAllBytes(file(name))).RootElement);

    /// <summary>The compiler's result for infra, by file, and what each deployment would create.</summary>
    public sealed record Compiled(
        string Printed, IReadOnlyDictionary<string, string> Formatted, IReadOnlyDictionary<string, JsonElement> Templates,
        IReadOnlyDictionary<string, JsonElement> Snapshots);
}
