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
        ["c6a89b2d-59bc-44d0-9896-0f6e12d7b80a"] = "Storage Queue Data Message Sender",
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
        Assert.Equal(10, seen);
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
        foreach (var module in new[] { "storage", "host", "replica" })
        {
            var resource = await ResourceAsync($"infra/modules/{module}.bicep", "account");
            Assert.StartsWith("Microsoft.Storage/storageAccounts@", resource.GetProperty("type").GetString(), StringComparison.Ordinal);
            var account = Properties(resource);
            Assert.False(account.GetProperty("allowSharedKeyAccess").GetBoolean());
            Assert.False(account.GetProperty("allowBlobPublicAccess").GetBoolean());
            Assert.True(account.GetProperty("supportsHttpsTrafficOnly").GetBoolean());
            Assert.Equal("TLS1_2", account.GetProperty("minimumTlsVersion").GetString());
            var first = Properties(await ResourceAsync("infra/modules/storage.bicep", "account"));
            Assert.Equal((module, first.GetRawText()), (module, account.GetRawText()));
        }
        foreach (var file in InfraFiles.List(".bicep"))
            foreach (var container in await ResourcesAsync(file, "/containers@"))
                Assert.Equal((file, "None"), (file, Properties(container).GetProperty("publicAccess").GetString()));
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
            "operatorObjectId: Storage Blob Data Contributor on replica/account",
            "operatorObjectId: Storage Blob Data Contributor on storage/account",
            "operatorObjectId: Storage Queue Data Contributor on storage/account",
            "operatorObjectId: Storage Table Data Contributor on replica/account",
            "operatorObjectId: Storage Table Data Contributor on storage/account",
            "passwordsDropperObjectId: Storage Blob Data Contributor on storage/account::blobs::passwordDrops",
            "secondWebPrincipalId: Monitoring Metrics Publisher on monitoring/appInsights",
            "secondWebPrincipalId: Storage Blob Data Contributor on storage/account::blobs::accessLog",
            "secondWebPrincipalId: Storage Blob Data Contributor on storage/account::blobs::appends",
            "secondWebPrincipalId: Storage Blob Data Contributor on storage/account::blobs::clients",
            "secondWebPrincipalId: Storage Blob Data Reader on storage/account::blobs::catalogue",
            "secondWebPrincipalId: Storage Blob Data Reader on storage/account::blobs::passwords",
            "secondWebPrincipalId: Storage Queue Data Message Sender on storage/account::queueService::appends",
            "secondWebPrincipalId: Storage Table Data Contributor on storage/account::tableService::appends",
            "secondWebPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "secondWebPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "secondWebPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "secondWebPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Monitoring Metrics Publisher on monitoring/appInsights",
            "webPrincipalId: Storage Blob Data Contributor on storage/account::blobs::accessLog",
            "webPrincipalId: Storage Blob Data Contributor on storage/account::blobs::appends",
            "webPrincipalId: Storage Blob Data Contributor on storage/account::blobs::clients",
            "webPrincipalId: Storage Blob Data Reader on replica/account::blobs::passwords",
            "webPrincipalId: Storage Blob Data Reader on storage/account::blobs::catalogue",
            "webPrincipalId: Storage Blob Data Reader on storage/account::blobs::passwords",
            "webPrincipalId: Storage Queue Data Message Sender on storage/account::queueService::appends",
            "webPrincipalId: Storage Table Data Contributor on storage/account::tableService::appends",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
            "webPrincipalId: Storage Table Data Reader on storage/tables[i]",
        ], given.Order(StringComparer.Ordinal));

        // What they are called beside their ids.
        foreach (var module in new[] { "storage", "host", "replica", "monitoring" })
            foreach (var role in (await InfraFiles.DigestAsync($"infra/modules/{module}.bicep")).GetProperty("vars").GetProperty("roles")
                .EnumerateObject())
                Assert.Equal(BuiltInRoles[role.Value.GetString()!], role.Name);
    }

    /// <summary>Whoever can replace the package runs code as the app, with its roles and the mail server's password.</summary>
    [Fact]
    public async Task Nobody_but_the_app_has_a_role_where_its_package_and_the_hosts_keys_are()
    {
        var modules = (await InfraFiles.DigestAsync("infra/main.bicep")).GetProperty("modules").EnumerateArray()
            .ToDictionary(module => module.GetProperty("symbol").GetString()!);
        var hosts = new HashSet<string>();
        foreach (var (symbol, identity) in
            new[] { ("app", "identity"), ("webApp", "webIdentity"), ("secondWebApp", "secondWebIdentity") })
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
        Assert.Equal("storage", await OfSettingAsync("secondWebApp", "HIBP_STORAGE"));
        Assert.True(hosts.Add(AccountName("storage")!));
        Assert.True(hosts.Add(AccountName("replica")!));

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
        // These and no others: nothing but the nearest account is merged into them, and no other resource has settings.
        Assert.Equal(
            "union(settings, nearestSettings)", Source(Properties(await ResourceAsync("infra/modules/web.bicep", "appSettings"))));
        Assert.Equal(
            "empty(nearestAccountName) ? {} : { HIBP_PASSWORDS_NEAREST: nearestAccountName }",
            Source(web.GetProperty("vars").GetProperty("nearestSettings")));
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
        foreach (var module in new[] { "storage", "monitoring" })
        {
            var given = (await ModuleAsync(module)).GetProperty("params");
            Assert.Equal("web ? webIdentity.properties.principalId : ''", Source(given.GetProperty("webPrincipalId")));
            Assert.Equal(
                "hasSecond ? secondWebIdentity.properties.principalId : ''", Source(given.GetProperty("secondWebPrincipalId")));
            var lines = InfraFiles.Read($"infra/modules/{module}.bicep").Split('\n');
            var resources = lines.Where(line => WebResource().IsMatch(line)).ToList();
            Assert.NotEmpty(resources);
            Assert.All(resources, line => Assert.Matches(@"if \(!empty\((webPrincipalId|secondWebPrincipalId|principal)\)\) \{$", line));
        }
    }

    [Fact]
    public async Task The_second_region_is_nothing_unless_it_is_named_and_then_the_web_app_again_beside_its_replica()
    {
        var main = await InfraFiles.DigestAsync("infra/main.bicep");
        Assert.Equal("", main.GetProperty("params").GetProperty("secondLocation").GetProperty("default").GetString());
        Assert.Equal("web && !empty(secondLocation)", Source(main.GetProperty("vars").GetProperty("hasSecond")));
        var text = InfraFiles.Read("infra/main.bicep");
        var declared = text.Split('\n').Where(line => SecondDeclared().IsMatch(line)).ToList();
        Assert.Equal(4, declared.Count);
        Assert.All(declared, line => Assert.EndsWith(" = if (hasSecond) {", line, StringComparison.Ordinal));
        foreach (var output in main.GetProperty("outputs").EnumerateObject().Where(output => SecondOutput().IsMatch(output.Name)))
            Assert.Matches("^hasSecond \\? .+ : ''$", Source(output.Value));

        // All of it is there and nowhere else.
        foreach (var module in main.GetProperty("modules").EnumerateArray())
        {
            var symbol = module.GetProperty("symbol").GetString()!;
            if (!module.GetProperty("params").TryGetProperty("location", out var location))
                continue;
            var expected = symbol is "secondWebApp" or "secondWebHost" or "replica" ? "secondLocation" : "location";
            Assert.Equal((symbol, expected), (symbol, Source(location)));
        }
        Assert.Equal(
            "secondLocation",
            Source((await ResourceAsync("infra/main.bicep", "secondWebIdentity")).GetProperty("body").GetProperty("location")));

        // The same module with the same values, but for whose it is and what is nearest.
        var (first, second) = (await ModuleAsync("webApp"), await ModuleAsync("secondWebApp"));
        Assert.Equal(first.GetProperty("path").GetString(), second.GetProperty("path").GetString());
        var other = first.GetProperty("params").EnumerateObject()
            .Where(one => one.Value.GetRawText() != second.GetProperty("params").GetProperty(one.Name).GetRawText());
        Assert.Equal(
        [
            "appName", "hostStorageAccountName", "identityClientId", "identityId", "location", "nearestAccountName",
            "packageContainerUrl", "planName",
        ], other.Select(one => one.Name).Order(StringComparer.Ordinal));
        Assert.Equal("", first.GetProperty("params").GetProperty("nearestAccountName").GetString());
        Assert.Equal("replica.outputs.accountName", Source(second.GetProperty("params").GetProperty("nearestAccountName")));

        // The replica's reader is that web app, its writer who runs hibp.
        var replica = (await ModuleAsync("replica")).GetProperty("params");
        Assert.Equal("secondWebIdentity.properties.principalId", Source(replica.GetProperty("webPrincipalId")));
        foreach (var name in new[] { "operatorObjectId", "operatorType" })
            Assert.Equal(name, Source(replica.GetProperty(name)));
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

    private static async Task<JsonElement> ModuleAsync(string symbol) =>
        Assert.Single(
            (await InfraFiles.DigestAsync("infra/main.bicep"))
            .GetProperty("modules").EnumerateArray(), module => module.GetProperty("symbol").GetString() == symbol);

    private static Task<IReadOnlyList<JsonElement>> RoleAssignmentsAsync(string file) => ResourcesAsync(file, "roleAssignments");

    private static async Task<IReadOnlyList<JsonElement>> ResourcesAsync(string file, string type) =>
    [
        .. (await InfraFiles.DigestAsync(file)).GetProperty("resources").EnumerateArray()
            .Where(resource => resource.GetProperty("type").GetString()!.Contains(type, StringComparison.Ordinal)),
    ];

    private static JsonElement Properties(JsonElement resource) => resource.GetProperty("body").GetProperty("properties");

    private static string Source(JsonElement value) => value.GetProperty("$expression").GetString()!;

    [GeneratedRegex("^resource (web|secondWeb)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex WebResource();

    [GeneratedRegex("^(resource|module) (second|replica)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex SecondDeclared();

    [GeneratedRegex("^(second|replica)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex SecondOutput();

    [GeneratedRegex(@"\bcors\b", RegexOptions.IgnoreCase, 1000)]
    private static partial Regex Cors();

    [GeneratedRegex(@"\bago\((?<count>\d+)(?<unit>[mhd])\)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Ago();

    [GeneratedRegex(@"load(Text|Json)Content\('(?<path>[^']+)'\)", RegexOptions.ExplicitCapture, 1000)]
    private static partial Regex Loaded();
}
