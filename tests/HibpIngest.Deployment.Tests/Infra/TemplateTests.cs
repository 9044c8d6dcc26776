using System.Xml;

namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>Tests that the templates compile without a warning, and that the largest and the smallest deployment are locked down.</summary>
public sealed class TemplateTests
{
    /// <summary>
    /// Names and ids of built-in roles, from learn.microsoft.com/azure/role-based-access-control/built-in-roles (of 9
    /// April 2026).
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

    private const int HashLength = 13;

    private const string Web = "hibp-?web|hibprepl";

    /// <summary>The result of uniqueString for the resource group.</summary>
    private const string Hash = "(?<=^(hibp|hibphost|hibpwebh|hibpweb2|hibprepl))[a-z0-9]{13}(?=$|/|-events)";

    [CompiledFact]
    public async Task Templates_and_parameters_compile_without_a_warning()
    {
        Assert.True(InfraFiles.List(".bicep").Count >= 9);
        Assert.Equal([$"infra/{BicepFiles.Everything}.bicepparam", $"infra/{BicepFiles.Least}.bicepparam"], InfraFiles.List(".bicepparam"));
        var printed = (await BicepFiles.CompiledAsync()).Printed;
        Assert.True(printed.Length == 0, printed);
    }

    [CompiledFact]
    public async Task Templates_and_parameters_are_in_the_compilers_format()
    {
        foreach (var (file, formatted) in (await BicepFiles.CompiledAsync()).Formatted)
            Assert.True(DocumentFiles.Read(file) == formatted, $"{file} is in another format: run 'bicep format {file}'");
    }

    /// <summary>The compiler checks that each type has that version.</summary>
    [Fact]
    public void Resource_types_use_no_preview_version()
    {
        foreach (var file in InfraFiles.List(".bicep"))
        {
            Assert.All(
                Patterns.Find(DocumentFiles.Read(file), @"(?<=Microsoft\.[\w./]+)@[^']*'"),
                version => Assert.Matches(@"^@20\d\d-\d\d-\d\d'$", version));
        }
    }

    [CompiledFact]
    public async Task Resources_allow_no_key_or_password()
    {
        var accounts = await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Storage/storageAccounts");
        Assert.Equal(5, accounts.Count);
        foreach (var account in accounts.Select(Properties))
        {
            Assert.False(account.GetProperty("allowSharedKeyAccess").GetBoolean());
            Assert.False(account.GetProperty("allowBlobPublicAccess").GetBoolean());
            Assert.True(account.GetProperty("supportsHttpsTrafficOnly").GetBoolean());
            Assert.Equal("TLS1_2", account.GetProperty("minimumTlsVersion").GetString());
            Assert.Equal(Properties(accounts[0]).GetRawText(), account.GetRawText());
        }
        var containers = await BicepFiles.ResourcesAsync(
            BicepFiles.Everything, "Microsoft.Storage/storageAccounts/blobServices/containers");
        Assert.NotEmpty(containers);
        foreach (var container in containers)
            Assert.Equal((Name(container), "None"), (Name(container), Properties(container).GetProperty("publicAccess").GetString()));
        var server = Properties(Assert.Single(await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Sql/servers")));
        Assert.True(server.GetProperty("administrators").GetProperty("azureADOnlyAuthentication").GetBoolean());
        Assert.False(server.TryGetProperty("administratorLogin", out _));
        Assert.Equal("1.2", server.GetProperty("minimalTlsVersion").GetString());
        var apps = await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Web/sites");
        Assert.Equal(3, apps.Count);
        var policies = await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Web/sites/basicPublishingCredentialsPolicies");
        foreach (var app in apps)
        {
            Assert.True(Properties(app).GetProperty("httpsOnly").GetBoolean());
            Assert.Equal("UserAssignedIdentity", Package(app).GetProperty("authentication").GetProperty("type").GetString());
            foreach (var policy in new[] { "ftp", "scm" })
            {
                var found = Assert.Single(policies, one => Name(one) == $"{Name(app)}/{policy}");
                Assert.False(Properties(found).GetProperty("allow").GetBoolean());
            }
        }
        foreach (var file in InfraFiles.List(".bicep"))
            Assert.DoesNotMatch("AccountKey|SharedAccessSignature|Password=", DocumentFiles.Read(file));
        // The table's request lines contain addresses: nothing may log them.
        Assert.DoesNotContain(
            "diagnosticSettings", string.Concat(InfraFiles.List(".bicep").Select(DocumentFiles.Read)), StringComparison.OrdinalIgnoreCase);
    }

    [CompiledFact]
    public async Task Identities_have_exactly_the_expected_roles()
    {
        // Without a web app, and with no principal but the operator.
        string[] least =
        [
            "hibp-app: Monitoring Metrics Publisher on hibp-insights",
            "hibp-app: Storage Blob Data Owner on hibp",
            "hibp-app: Storage Blob Data Owner on hibphost",
            "hibp-app: Storage Queue Data Contributor on hibp",
            "hibp-app: Storage Queue Data Contributor on hibphost",
            "hibp-app: Storage Table Data Contributor on hibp",
            "hibp-app: Storage Table Data Contributor on hibphost",
            "hibp-events: Storage Blob Data Contributor on hibp/blobServices/default/containers/events-undelivered",
            "operator: Storage Blob Data Contributor on hibp",
            "operator: Storage Queue Data Contributor on hibp",
            "operator: Storage Table Data Contributor on hibp",
        ];
        string[] everything =
        [
            .. least,
            "dropper of hashes: Storage Blob Data Contributor on hibp/blobServices/default/containers/passwords-import",
            "dropper: Storage Blob Data Contributor on hibp/blobServices/default/containers/breach",
            "hibp-web2: Monitoring Metrics Publisher on hibp-insights",
            .. WebRoles("hibp-web2"),
            "hibp-web2: Storage Blob Data Owner on hibpweb2",
            "hibp-web2: Storage Blob Data Reader on hibprepl/blobServices/default/containers/passwords",
            "hibp-web: Monitoring Metrics Publisher on hibp-insights",
            .. WebRoles("hibp-web"),
            "hibp-web: Storage Blob Data Owner on hibpwebh",
            "operator: Storage Blob Data Contributor on hibprepl",
            "operator: Storage Table Data Contributor on hibprepl",
        ];
        Assert.Equal(everything.Order(StringComparer.Ordinal), await RolesAsync(BicepFiles.Everything));
        Assert.Equal(least, await RolesAsync(BicepFiles.Least));

        // Both web apps have the same roles on the breaches' storage account.
        static string[] WebRoles(string identity) =>
        [
            $"{identity}: Storage Blob Data Contributor on hibp/blobServices/default/containers/access",
            $"{identity}: Storage Blob Data Contributor on hibp/blobServices/default/containers/clients",
            $"{identity}: Storage Blob Data Contributor on hibp/blobServices/default/containers/passwordappends",
            $"{identity}: Storage Blob Data Reader on hibp/blobServices/default/containers/catalogue",
            $"{identity}: Storage Blob Data Reader on hibp/blobServices/default/containers/passwords",
            $"{identity}: Storage Queue Data Message Sender on hibp/queueServices/default/queues/hibp-commands",
            $"{identity}: Storage Queue Data Message Sender on hibp/queueServices/default/queues/passwords-append",
            $"{identity}: Storage Table Data Contributor on hibp/tableServices/default/tables/hibpgrants",
            $"{identity}: Storage Table Data Contributor on hibp/tableServices/default/tables/passwordappends",
            $"{identity}: Storage Table Data Reader on hibp/tableServices/default/tables/accounts",
            $"{identity}: Storage Table Data Reader on hibp/tableServices/default/tables/hibpkeys",
            $"{identity}: Storage Table Data Reader on hibp/tableServices/default/tables/hibpstore",
            $"{identity}: Storage Table Data Reader on hibp/tableServices/default/tables/ranges",
        ];
    }

    [CompiledFact]
    public async Task Role_names_match_their_ids()
    {
        foreach (var module in new[] { "storage", "host", "replica", "monitoring" })
            foreach (var role in (await BicepFiles.TemplateAsync($"infra/modules/{module}.bicep"))
                .GetProperty("variables").GetProperty("roles").EnumerateObject())
                Assert.Equal(BuiltInRoles[role.Value.GetString()!], role.Name);
    }

    /// <summary>
    /// A principal that can replace the package runs code as the app, with its roles and the mail server's password. The roles on these
    /// accounts are tested above.
    /// </summary>
    [CompiledFact]
    public async Task Package_and_host_keys_of_an_app_are_in_an_account_of_its_own()
    {
        var breaches = await BicepFiles.OutputAsync(BicepFiles.Everything, "storageAccountName");
        foreach (var (app, host) in new[] { ("app", "hibphost"), ("web", "hibpwebh"), ("web2", "hibpweb2") })
        {
            var site = await BicepFiles.SiteAsync(BicepFiles.Everything, app);
            var account = Patterns.Find(Package(site).GetProperty("value").GetString()!, "storageAccounts/(?<found>[a-z0-9]+)'").First();
            Assert.Equal(host, account[..^HashLength]);
            Assert.Equal(account, await BicepFiles.SettingAsync(BicepFiles.Everything, app, "AzureWebJobsStorage__accountName"));
            var identity = Assert.Single(site.GetProperty("identity").GetProperty("userAssignedIdentities").EnumerateObject()).Name;
            Assert.EndsWith($"/hibp-{app}", identity, StringComparison.Ordinal);
            Assert.Equal(identity, Package(site).GetProperty("authentication").GetProperty("userAssignedIdentityResourceId").GetString());
            // The breaches are in another storage account, and so is the uploader's role.
            Assert.Equal(breaches, await BicepFiles.SettingAsync(BicepFiles.Everything, app, "HIBP_STORAGE"));
        }
        var settings = (await BicepFiles.SettingsAsync(BicepFiles.Everything, "app")).GetString()!;
        foreach (var service in new[] { "blob", "queue" })
        {
            Assert.Contains(
                $"'BreachStorage__{service}ServiceUri', reference('{BicepFiles.ResourceGroup}/providers/Microsoft.Storage/storageAccounts/"
                + $"{breaches}', '2024-01-01').primaryEndpoints.{service},",
                settings, StringComparison.Ordinal);
        }
    }

    /// <summary>
    /// A requested account is in the path: no telemetry of the host that contains paths may be collected. The API
    /// alone decides about CORS.
    /// </summary>
    [CompiledFact]
    public async Task Web_app_has_no_host_telemetry_no_platform_cors_and_no_pipeline_settings()
    {
        string[] expected =
        [
            "APPLICATIONINSIGHTS_AUTHENTICATION_STRING", "ASPNETCORE_FORWARDEDHEADERS_ENABLED", "AZURE_CLIENT_ID",
            "AzureFunctionsJobHost__logging__applicationInsights__enableDependencyTracking",
            "AzureFunctionsJobHost__logging__logLevel__Function.Web", "AzureFunctionsJobHost__logging__logLevel__Host.Results",
            "AzureFunctionsJobHost__logging__logLevel__Yarp", "AzureWebJobsStorage__accountName", "AzureWebJobsStorage__clientId",
            "AzureWebJobsStorage__credential", "HIBP_APPINSIGHTS", "HIBP_LINK_KEYS", "HIBP_PROXIES", "HIBP_STORAGE", "HIBP_TICKET_KEY",
            "HIBP_WEB_URL",
        ];
        foreach (var (app, more) in new[] { ("web", Array.Empty<string>()), ("web2", ["HIBP_PASSWORDS_NEAREST"]) })
        {
            var settings = await WebSettingsAsync(app);
            Assert.Equal(expected.Concat(more).Order(StringComparer.Ordinal), settings.Keys.Order(StringComparer.Ordinal));
            foreach (var (name, value) in new[]
            {
                ("logLevel__Host.Results", "None"), ("logLevel__Function.Web", "Warning"), ("logLevel__Yarp", "None"),
                ("applicationInsights__enableDependencyTracking", "false"),
            })
                Assert.Equal((name, value), (name, settings[$"AzureFunctionsJobHost__logging__{name}"]));
        }
        // No other resource has settings.
        Assert.Equal(3, (await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Web/sites/config")).Count);
        foreach (var site in await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Web/sites"))
            Assert.Equal(["minTlsVersion"], Properties(site).GetProperty("siteConfig").EnumerateObject().Select(property => property.Name));

        foreach (var file in InfraFiles.List(".bicep", ".bicepparam", ".sh"))
        {
            var code = DocumentFiles.Read(file).Split('\n').Where(line => !line.TrimStart().StartsWith("//", StringComparison.Ordinal));
            Assert.DoesNotMatch(@"(?i)\bcors\b", string.Join('\n', code));
        }
    }

    [CompiledFact]
    public async Task Web_app_is_left_out_as_a_whole_or_not_at_all()
    {
        var main = await BicepFiles.TemplateAsync("infra/main.bicep");
        Assert.True(main.GetProperty("parameters").GetProperty("web").GetProperty("defaultValue").GetBoolean());
        var everything = await BicepFiles.ResourcesAsync(BicepFiles.Everything);
        Assert.Contains(everything, resource => Patterns.Find(resource.GetRawText(), Web).Any());
        // And nothing refers to it, or is left unresolved.
        Assert.All(
            await BicepFiles.ResourcesAsync(BicepFiles.Least), resource =>
            {
                Assert.DoesNotMatch(Web, resource.GetRawText());
                Assert.False(resource.TryGetProperty("condition", out _));
            });
        foreach (var output in new[] { "webAppName", "webUrl", "secondWebAppName", "secondWebUrl", "replicaAccountName" })
        {
            Assert.Equal((output, ""), (output, await BicepFiles.OutputAsync(BicepFiles.Least, output)));
            Assert.NotEqual((output, ""), (output, await BicepFiles.OutputAsync(BicepFiles.Everything, output)));
        }
    }

    [CompiledFact]
    public async Task Second_region_is_omitted_unless_named_and_repeats_the_web_app_with_a_replica()
    {
        var main = await BicepFiles.TemplateAsync("infra/main.bicep");
        Assert.Equal("", main.GetProperty("parameters").GetProperty("secondLocation").GetProperty("defaultValue").GetString());
        Assert.Equal(
            "[and(parameters('web'), not(empty(parameters('secondLocation'))))]",
            main.GetProperty("variables").GetProperty("hasSecond").GetString());
        var conditional = main.GetProperty("resources").EnumerateArray()
            .Where(one => one.TryGetProperty("condition", out var condition) && condition.GetString() == "[variables('hasSecond')]");
        Assert.Equal(
            ["{0}-replica", "{0}-web2", "{0}-web2", "{0}-web2-host"],
            conditional.Select(one => Name(one).Split('\'')[1]).Order(StringComparer.Ordinal));

        // All of it is there and nowhere else.
        foreach (var resource in await BicepFiles.ResourcesAsync(BicepFiles.Everything))
        {
            if (!resource.TryGetProperty("location", out var location) || location.GetString() == "Global")
                continue;
            var expected = Patterns.Find(Name(resource), "^hibp-?(web2|repl)").Any() ? "eastus2" : "westeurope";
            Assert.Equal((Name(resource), expected), (Name(resource), location.GetString()));
        }

        // The same module with the same values, except for identity and nearest replica.
        var modules = main.GetProperty("resources").EnumerateArray()
            .Where(one => Type(one) == "Microsoft.Resources/deployments").ToDictionary(one => Name(one).Split('\'')[1]);
        var (first, second) = (Parameters(modules["{0}-web"]), Parameters(modules["{0}-web2"]));
        Assert.Equal(
            Properties(modules["{0}-web"]).GetProperty("template").GetRawText(),
            Properties(modules["{0}-web2"]).GetProperty("template").GetRawText());
        var other = first.EnumerateObject().Where(one => one.Value.GetRawText() != second.GetProperty(one.Name).GetRawText());
        Assert.Equal(
        [
            "appName", "hostStorageAccountName", "identityClientId", "identityId", "location", "nearestAccountName",
            "packageContainerUrl", "planName",
        ], other.Select(one => one.Name).Order(StringComparer.Ordinal));
        Assert.Equal(
            await BicepFiles.OutputAsync(BicepFiles.Everything, "replicaAccountName"),
            (await WebSettingsAsync("web2"))["HIBP_PASSWORDS_NEAREST"]);
    }

    [CompiledFact]
    public async Task Every_alert_query_has_a_rule_over_the_time_it_looks_back()
    {
        var queries = InfraFiles.List(".kql").ToDictionary(DocumentFiles.Read);
        var rules = (await BicepFiles.ResourcesAsync(BicepFiles.Everything, "Microsoft.Insights/scheduledQueryRules"))
            .Select(Properties).ToList();
        Assert.Equal(queries.Count, rules.Count);
        foreach (var rule in rules)
        {
            var query = Assert.Single(rule.GetProperty("criteria").GetProperty("allOf").EnumerateArray()).GetProperty("query").GetString()!;
            Assert.True(queries.Remove(query), query);
            var ago = Patterns.Find(query, @"\bago\((?<found>\d+[mhd])\)")
                .Select(time => XmlConvert.ToTimeSpan((time.EndsWith('d') ? "P" : "PT") + time.ToUpperInvariant()));
            Assert.Equal(ago.Max(), XmlConvert.ToTimeSpan(rule.GetProperty("windowSize").GetString()!));
        }
    }

    /// <summary>Returns the role assignments, without the resource group's hashes in names.</summary>
    private static async Task<List<string>> RolesAsync(string deployment)
    {
        var given = new List<string>();
        foreach (var assignment in await BicepFiles.ResourcesAsync(deployment, "Microsoft.Authorization/roleAssignments"))
        {
            var role = Properties(assignment).GetProperty("roleDefinitionId").GetString()!.Split('/')[^1];
            Assert.True(BuiltInRoles.ContainsKey(role), $"role {role} is not in the table of this test; look it up and add it");
            var principal = Patterns.Replace(
                Properties(assignment).GetProperty("principalId").GetString()!, @"^\[reference\('[^']*/(?<name>[^'/]+)'.*$", "${name}");
            var scope = Patterns.Find(
                assignment.GetProperty("id").GetString()!,
                @"/resourceGroups/breaches/providers/Microsoft\.\w+/\w+/(?<found>[^']+?)(/providers/Microsoft\.Authorization/|')").First();
            given.Add($"{Patterns.Replace(principal, Hash, "")}: {BuiltInRoles[role]} on {Patterns.Replace(scope, Hash, "")}");
        }
        return [.. given.Order(StringComparer.Ordinal)];
    }

    /// <summary>Returns a web app's settings; their values are known before the deployment, or empty.</summary>
    private static async Task<Dictionary<string, string>> WebSettingsAsync(string app)
    {
        var settings = (await BicepFiles.SettingsAsync(BicepFiles.Everything, app)).GetString()!;
        // The compiler doesn't evaluate settings with secure parameters: createObject('NAME', 'VALUE', 'NAME', reference(...), ...).
        return Patterns.Find(settings, @"'[A-Za-z][\w.]*', ('[^']*'|(reference|format|parameters)\()")
            .Select(setting => setting.Split('\'')).ToDictionary(parts => parts[1], parts => parts.Length > 3 ? parts[3] : "");
    }

    private static JsonElement Properties(JsonElement resource) => resource.GetProperty("properties");

    private static JsonElement Parameters(JsonElement module) => Properties(module).GetProperty("parameters");

    private static JsonElement Package(JsonElement site) =>
        Properties(site).GetProperty("functionAppConfig").GetProperty("deployment").GetProperty("storage");

    private static string Name(JsonElement resource) => resource.GetProperty("name").GetString()!;

    private static string Type(JsonElement resource) => resource.GetProperty("type").GetString()!;
}
