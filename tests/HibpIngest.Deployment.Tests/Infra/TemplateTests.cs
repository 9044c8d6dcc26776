using System.Globalization;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Xml;

namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>
/// The templates hold together: they parse, name what is declared, hand modules what they ask for, and lock
/// what has to be locked.
/// </summary>
public sealed partial class TemplateTests
{
    /// <summary>
    /// Names and ids of built-in roles, from learn.microsoft.com/azure/role-based-access-control/built-in-roles
    /// (of 9 April 2026).
    /// </summary>
    private static readonly Dictionary<string, string> BuiltInRoles = new()
    {
        ["ba92f5b4-2d11-453d-a403-e96b0029c9fe"] = "Storage Blob Data Contributor",
        ["b7e6dc6d-f1e8-4753-8033-0f276bb0955b"] = "Storage Blob Data Owner",
        ["974c5e8b-45b9-4653-ba55-5f855dd0fb88"] = "Storage Queue Data Contributor",
        ["0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"] = "Storage Table Data Contributor",
        ["2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"] = "Storage Blob Data Reader",
        ["76199698-9eea-4c19-bc75-cec21354c6b6"] = "Storage Table Data Reader",
        ["3913510d-42f4-4e42-8a64-420c390055eb"] = "Monitoring Metrics Publisher",
    };

    /// <summary>The two apps' modules.</summary>
    private static readonly string[] Apps = ["infra/modules/app.bicep", "infra/modules/web.bicep"];

    [Fact]
    public async Task Files_parse_and_use_only_what_is_declared()
    {
        var files = InfraFiles.List(".bicep", ".bicepparam", ".ps1");
        Assert.True(files.Count >= 10, string.Join(", ", files));
        foreach (var file in files)
            Assert.True(
                (await InfraFiles.DigestAsync(file))
                .GetProperty("errors").GetArrayLength() == 0, $"{file}: {(await InfraFiles.DigestAsync(file)).GetProperty("errors")}");
    }

    [Fact]
    public void Json_files_are_json()
    {
        string[] files =
            ["host.json", "src/HibpIngest.Functions/Web/host.json", "local.settings.example.json", .. InfraFiles.List(".json")];
        foreach (var file in files)
            using (JsonDocument.Parse(InfraFiles.Read(file)))
                Assert.True(file.Length > 0);
    }

    [Fact]
    public async Task Modules_get_what_they_ask_for_and_give_what_is_asked_of_them()
    {
        var seen = 0;
        foreach (var file in InfraFiles.List(".bicep"))
        {
            var digest = await InfraFiles.DigestAsync(file);
            var outputs = new Dictionary<string, HashSet<string>>();
            foreach (var module in digest.GetProperty("modules").EnumerateArray())
            {
                var path =
                    Path.GetRelativePath(
                        InfraFiles.Root,
                        Path.Combine(InfraFiles.Root, Path.GetDirectoryName(file)!, module.GetProperty("path").GetString()!)).Replace(
                            '\\', '/');
                var target = await InfraFiles.DigestAsync(path);
                AssertParameters($"{file}, module {path}", target.GetProperty("params"), module.GetProperty("params"));
                outputs[module.GetProperty("symbol").GetString()!] =
                    [.. target.GetProperty("outputs").EnumerateObject().Select(output => output.Name)];
                seen++;
            }
            foreach (var asked in digest.GetProperty("asked").EnumerateArray())
                Assert.True(
                    outputs[asked[0].GetString()!].Contains(asked[1].GetString()!), $"{file}: module {asked[0]} has no output {asked[1]}");
        }
        Assert.Equal(7, seen);
    }

    [Fact]
    public async Task Both_sizes_set_what_the_template_asks_for_within_its_limits()
    {
        var parameters = (await InfraFiles.DigestAsync("infra/main.bicep")).GetProperty("params");
        var sizes = InfraFiles.List(".bicepparam");
        Assert.Equal(["infra/full-power.bicepparam", "infra/smallest.bicepparam"], sizes);
        foreach (var size in sizes)
        {
            var digest = await InfraFiles.DigestAsync(size);
            Assert.Equal("main.bicep", digest.GetProperty("using").GetString());
            AssertParameters(size, parameters, digest.GetProperty("vars"));
        }
    }

    [Fact]
    public async Task Every_type_is_of_a_version_that_is_no_preview()
    {
        foreach (var file in InfraFiles.List(".bicep"))
            foreach (var resource in (await InfraFiles.DigestAsync(file)).GetProperty("resources").EnumerateArray())
                Assert.Matches("^Microsoft\\.[A-Za-z]+(/[A-Za-z]+)+@20\\d\\d-\\d\\d-\\d\\d$", resource.GetProperty("type").GetString());
    }

    [Fact]
    public async Task Files_that_templates_load_are_there()
    {
        foreach (var file in InfraFiles.List(".bicep"))
        {
            foreach (Match match in Loaded().Matches(InfraFiles.Read(file)))
                Assert.True(
                    File.Exists(Path.Combine(InfraFiles.Root, Path.GetDirectoryName(file)!, match.Groups["path"].Value)),
                    $"{file} loads {match.Groups["path"]}, which is not there");
            Assert.True((await InfraFiles.DigestAsync(file)).GetProperty("errors").GetArrayLength() == 0);
        }
    }

    [Fact]
    public async Task Nothing_signs_in_by_key_or_password()
    {
        foreach (var module in new[] { "storage", "host" })
        {
            var account = Properties(await ResourceAsync($"infra/modules/{module}.bicep", "account"));
            Assert.False(account.GetProperty("allowSharedKeyAccess").GetBoolean());
            Assert.False(account.GetProperty("allowBlobPublicAccess").GetBoolean());
            Assert.True(account.GetProperty("supportsHttpsTrafficOnly").GetBoolean());
            Assert.Equal("TLS1_2", account.GetProperty("minimumTlsVersion").GetString());
        }
        var server = Properties(await ResourceAsync("infra/modules/database.bicep", "server"));
        Assert.True(server.GetProperty("administrators").GetProperty("azureADOnlyAuthentication").GetBoolean());
        Assert.False(server.TryGetProperty("administratorLogin", out _));
        Assert.Equal("1.2", server.GetProperty("minimalTlsVersion").GetString());
        foreach (var file in Apps)
        {
            var app = Properties(await ResourceAsync(file, "app"));
            Assert.True(app.GetProperty("httpsOnly").GetBoolean());
            Assert.Equal(
                "UserAssignedIdentity", app.GetProperty("functionAppConfig")
                .GetProperty("deployment").GetProperty("storage").GetProperty("authentication").GetProperty("type").GetString());
            foreach (var policy in new[] { "ftp", "scm" })
                Assert.False(Properties(await ResourceAsync(file, policy)).GetProperty("allow").GetBoolean());
        }
        foreach (var file in InfraFiles.List(".bicep"))
            Assert.DoesNotMatch("AccountKey|SharedAccessSignature|Password=", InfraFiles.Read(file));
        // The table's request lines hold addresses: nothing may log them.
        Assert.DoesNotContain(
            "diagnosticSettings", string.Concat(InfraFiles.List(".bicep").Select(InfraFiles.Read)), StringComparison.OrdinalIgnoreCase);
    }

    [Fact]
    public async Task Identities_have_these_roles_and_no_other()
    {
        var given = new List<string>();
        foreach (var file in InfraFiles.List(".bicep"))
        {
            foreach (var resource in await RoleAssignmentsAsync(file))
            {
                var role = Properties(resource).GetProperty("roleDefinitionId").GetProperty("arguments")[1].GetString()!;
                Assert.True(BuiltInRoles.ContainsKey(role), $"{file}: role {role} is not in the table of this test; look it up and add it");
                var scope = $"{Path.GetFileNameWithoutExtension(file)}/{Source(resource.GetProperty("body").GetProperty("scope"))}";
                given.Add($"{Source(Properties(resource).GetProperty("principalId"))}: {BuiltInRoles[role]} on {scope}");
            }
        }
        Assert.Equal(
        [
            "appPrincipalId: Monitoring Metrics Publisher on monitoring/appInsights",
            "appPrincipalId: Storage Blob Data Owner on host/account",
            "appPrincipalId: Storage Blob Data Owner on storage/account",
            "appPrincipalId: Storage Queue Data Contributor on host/account",
            "appPrincipalId: Storage Queue Data Contributor on storage/account",
            "appPrincipalId: Storage Table Data Contributor on host/account",
            "appPrincipalId: Storage Table Data Contributor on storage/account",
            "dropperObjectId: Storage Blob Data Contributor on storage/account::blobs::drop",
            "eventTopic.identity.principalId: Storage Blob Data Contributor on storage/account::blobs::undelivered",
            "operatorObjectId: Storage Blob Data Contributor on storage/account",
            "operatorObjectId: Storage Queue Data Contributor on storage/account",
            "operatorObjectId: Storage Table Data Contributor on storage/account",
            "webPrincipalId: Monitoring Metrics Publisher on monitoring/appInsights",
            "webPrincipalId: Storage Blob Data Reader on storage/account::blobs::catalogue",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
        ], given.Order(StringComparer.Ordinal));

        // What they are called beside their ids.
        foreach (var file in new[] { "infra/modules/storage.bicep", "infra/modules/host.bicep", "infra/modules/monitoring.bicep" })
            foreach (var role in (await InfraFiles.DigestAsync(file)).GetProperty("vars").GetProperty("roles").EnumerateObject())
                Assert.Equal(BuiltInRoles[role.Value.GetString()!], role.Name);
    }

    /// <summary>Whoever can replace the package runs code as the app, with its roles and the mail server's password.</summary>
    [Fact]
    public async Task Nobody_but_the_app_has_a_role_where_its_package_and_the_hosts_keys_are()
    {
        var modules = (await InfraFiles.DigestAsync("infra/main.bicep")).GetProperty("modules").EnumerateArray()
            .ToDictionary(module => module.GetProperty("symbol").GetString()!);
        var hosts = new HashSet<string>();
        foreach (var (symbol, identity) in new[] { ("app", "identity"), ("webApp", "webIdentity") })
        {
            var host = Module(Given(symbol).GetProperty("packageContainerUrl"));
            Assert.Equal(host, await OfSettingAsync(symbol, "AzureWebJobsStorage__accountName"));
            Assert.Equal($"{identity}.id", Source(Given(symbol).GetProperty("identityId")));
            Assert.Equal($"{identity}.properties.principalId", Source(Given(host).GetProperty("appPrincipalId")));
            var roles = await RoleAssignmentsAsync($"infra/{modules[host].GetProperty("path").GetString()}");
            Assert.NotEmpty(roles);
            Assert.All(roles, resource => Assert.Equal("appPrincipalId", Source(Properties(resource).GetProperty("principalId"))));
            Assert.True(hosts.Add(AccountName(host)!), "the apps share an account, where each could replace the other's package");
        }

        // The breaches are elsewhere, in one place, and so is whoever may drop them.
        foreach (var setting in new[] { "HIBP_STORAGE", "BreachStorage__blobServiceUri", "BreachStorage__queueServiceUri" })
            Assert.Equal((setting, "storage"), (setting, await OfSettingAsync("app", setting)));
        Assert.Equal("storage", await OfSettingAsync("webApp", "HIBP_STORAGE"));
        Assert.True(hosts.Add(AccountName("storage")!));

        JsonElement Given(string symbol) => modules[symbol].GetProperty("params");
        string Module(JsonElement value) => Source(value).Split('.')[0];
        async Task<string> OfSettingAsync(string symbol, string name)
        {
            var settings = (await InfraFiles.DigestAsync($"infra/{modules[symbol].GetProperty("path").GetString()}"))
                .GetProperty("vars").GetProperty("settings");
            return Module(Given(symbol).GetProperty(Source(settings.GetProperty(name))));
        }
        string? AccountName(string module) => Given(module).GetProperty("accountName").GetString();
    }

    /// <summary>
    /// An account asked about is in the path: nothing of the host's that holds paths may be collected. And what browsers of other
    /// sites may read is the API's to say.
    /// </summary>
    [Fact]
    public async Task The_web_app_has_no_telemetry_of_its_hosts_no_cors_of_the_platforms_and_nothing_of_the_pipelines()
    {
        var web = await InfraFiles.DigestAsync("infra/modules/web.bicep");
        var settings = web.GetProperty("vars").GetProperty("settings");
        Assert.Equal(
        [
            "APPLICATIONINSIGHTS_AUTHENTICATION_STRING", "AZURE_CLIENT_ID",
            "AzureFunctionsJobHost__logging__applicationInsights__enableDependencyTracking",
            "AzureFunctionsJobHost__logging__logLevel__Function.Web", "AzureFunctionsJobHost__logging__logLevel__Host.Results",
            "AzureFunctionsJobHost__logging__logLevel__Yarp", "AzureWebJobsStorage__accountName", "AzureWebJobsStorage__clientId",
            "AzureWebJobsStorage__credential", "HIBP_APP", "HIBP_APPINSIGHTS", "HIBP_PROXIES", "HIBP_STORAGE", "HIBP_WEB_URL",
        ], settings.EnumerateObject().Select(setting => setting.Name).Order(StringComparer.Ordinal));
        foreach (var (name, value) in new[]
        {
            ("logLevel__Host.Results", "None"), ("logLevel__Function.Web", "Warning"), ("logLevel__Yarp", "None"),
            ("applicationInsights__enableDependencyTracking", "false"),
        })
            Assert.Equal((name, value), (name, settings.GetProperty($"AzureFunctionsJobHost__logging__{name}").GetString()));
        // These and no others: nothing is merged into them, and no other resource has settings.
        Assert.Equal(settings.GetRawText(), Properties(await ResourceAsync("infra/modules/web.bicep", "appSettings")).GetRawText());
        var siteConfig = Properties(await ResourceAsync("infra/modules/web.bicep", "app")).GetProperty("siteConfig");
        Assert.Equal(["minTlsVersion"], siteConfig.EnumerateObject().Select(property => property.Name));

        foreach (var file in InfraFiles.List(".bicep", ".bicepparam", ".sh", ".ps1"))
        {
            var code = InfraFiles.Read(file).Split('\n').Where(line => !line.TrimStart().StartsWith("//", StringComparison.Ordinal));
            Assert.DoesNotMatch(Cors(), string.Join('\n', code));
        }
        var app = await InfraFiles.DigestAsync("infra/modules/app.bicep");
        Assert.Equal("ingest", app.GetProperty("vars").GetProperty("settings").GetProperty("HIBP_APP").GetString());
        Assert.Equal("web", settings.GetProperty("HIBP_APP").GetString());
    }

    [Fact]
    public async Task The_web_app_is_left_out_as_a_whole_or_not_at_all()
    {
        var main = await InfraFiles.DigestAsync("infra/main.bicep");
        Assert.True(main.GetProperty("params").GetProperty("web").GetProperty("default").GetBoolean());
        var text = InfraFiles.Read("infra/main.bicep");
        foreach (var declared in new[] { "resource webIdentity ", "module webHost ", "module webApp " })
            Assert.EndsWith(
                " = if (web) {", Assert.Single(text.Split('\n'), line => line.StartsWith(declared, StringComparison.Ordinal)),
                StringComparison.Ordinal);
        // What others are told of it is nothing then, and there is no role for nobody.
        foreach (var module in main.GetProperty("modules").EnumerateArray())
        {
            if (module.GetProperty("params").TryGetProperty("webPrincipalId", out var principal))
                Assert.Equal("web ? webIdentity.properties.principalId : ''", Source(principal));
        }
        foreach (var file in new[] { "infra/modules/storage.bicep", "infra/modules/monitoring.bicep" })
        {
            var lines = InfraFiles.Read(file).Split('\n');
            var resources = lines.Where(line => line.StartsWith("resource web", StringComparison.Ordinal)).ToList();
            Assert.NotEmpty(resources);
            Assert.All(resources, line => Assert.Contains("if (!empty(webPrincipalId)) {", line, StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task Every_query_for_alerts_is_an_alert_over_the_time_it_looks_back()
    {
        var rules = (await InfraFiles.DigestAsync("infra/modules/monitoring.bicep")).GetProperty("resources")
            .EnumerateArray().Where(resource => resource.GetProperty("symbol").GetString() == "alert").Select(Properties).ToList();
        var loaded = new List<string>();
        foreach (var rule in rules)
        {
            var query = Assert.Single(rule.GetProperty("criteria").GetProperty("allOf").EnumerateArray())
                .GetProperty("query").GetProperty("arguments")[0].GetString()!;
            loaded.Add(query);
            var ago = Ago().Matches(InfraFiles.Read($"infra/{query["../".Length..]}")).Select(
                match =>
                    XmlConvert.ToTimeSpan(
                        match.Groups["unit"].Value == "d" ? $"P{match.Groups["count"].Value}D"
                        : $"PT{match.Groups["count"].Value}{match.Groups["unit"].Value.ToUpperInvariant()}"));
            Assert.Equal(ago.Max(), XmlConvert.ToTimeSpan(rule.GetProperty("windowSize").GetString()!));
        }
        Assert.Equal(
            InfraFiles.List(".kql")
            .Select(file => file.Replace("infra/", "../", StringComparison.Ordinal)), loaded.Order(StringComparer.Ordinal));
    }

    private static void AssertParameters(string where, JsonElement declared, JsonElement given)
    {
        foreach (var value in given.EnumerateObject())
        {
            Assert.True(declared.TryGetProperty(value.Name, out var parameter), $"{where}: there is no parameter {value.Name}");
            AssertWithin($"{where}: {value.Name}", parameter, value.Value);
        }
        foreach (var parameter in declared.EnumerateObject().Where(parameter => parameter.Value.GetProperty("required").GetBoolean()))
            Assert.True(given.TryGetProperty(parameter.Name, out _), $"{where}: {parameter.Name} is missing");
    }

    /// <summary>What can be told of a value that is written out: its type, and the limits of the decorators.</summary>
    private static void AssertWithin(string where, JsonElement parameter, JsonElement value)
    {
        if (value.ValueKind == JsonValueKind.Object && value.TryGetProperty("$expression", out _))
            return;
        var kind = parameter.GetProperty("type").GetString() switch
        {
            "string" => JsonValueKind.String,
            "int" => JsonValueKind.Number,
            "array" => JsonValueKind.Array,
            "object" => JsonValueKind.Object,
            _ => value.ValueKind is JsonValueKind.True ? JsonValueKind.True : JsonValueKind.False,
        };
        Assert.True(value.ValueKind == kind, $"{where} is a {value.ValueKind}, expected {kind}");
        foreach (var decorator in parameter.GetProperty("decorators").EnumerateArray().Select(decorator => decorator.GetString()!))
        {
            var limit = decorator.Split('(', ')')[1];
            var within = decorator.Split('(')[0] switch
            {
                "minValue" => value.GetInt64() >= long.Parse(limit, CultureInfo.InvariantCulture),
                "maxValue" => value.GetInt64() <= long.Parse(limit, CultureInfo.InvariantCulture),
                "allowed" => limit.Trim('[', ']').Split(',').Select(one => one.Trim(' ', '\'')).Contains(value.ToString()),
                _ => true,
            };
            Assert.True(within, $"{where} is {value}, against {decorator}");
        }
    }

    private static async Task<JsonElement> ResourceAsync(string file, string symbol) =>
        Assert.Single(
            (await InfraFiles.DigestAsync(file))
            .GetProperty("resources").EnumerateArray(), resource => resource.GetProperty("symbol").GetString() == symbol);

    private static async Task<IReadOnlyList<JsonElement>> RoleAssignmentsAsync(string file) =>
    [
        .. (await InfraFiles.DigestAsync(file)).GetProperty("resources").EnumerateArray()
            .Where(resource => resource.GetProperty("type").GetString()!.Contains("roleAssignments", StringComparison.Ordinal)),
    ];

    private static JsonElement Properties(JsonElement resource) => resource.GetProperty("body").GetProperty("properties");

    private static string Source(JsonElement value) => value.GetProperty("$expression").GetString()!;

    [GeneratedRegex(@"\bcors\b", RegexOptions.IgnoreCase, 1000)]
    private static partial Regex Cors();

    [GeneratedRegex(@"\bago\((?<count>\d+)(?<unit>[mhd])\)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Ago();

    [GeneratedRegex(@"load(Text|Json)Content\('(?<path>[^']+)'\)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Loaded();
}
