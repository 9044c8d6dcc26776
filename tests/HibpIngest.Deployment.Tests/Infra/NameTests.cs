using HibpIngest.Api.Settings;
using HibpIngest.Functions;
using HibpIngest.Functions.Api;
using HibpIngest.Hosting.Messages;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Matching;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Sweeping;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>Tests that names used by infra, host.json and the code are the same in all of them; the code decides.</summary>
public sealed class NameTests
{
    /// <summary>
    /// The host's queue for blobs that failed five times
    /// (learn.microsoft.com/azure/azure-functions/functions-bindings-storage-blob-trigger#poison-blobs).
    /// </summary>
    private const string BlobPoisonQueue = "webjobs-blobtrigger-poison";

    /// <summary>The host.json of the web app.</summary>
    private const string WebHost = "src/HibpIngest.Functions.Api/host.json";

    private const string Deploy = "infra/deploy.sh";

    private const string Scale = "infra/scale.sh";

    /// <summary>The stage of each queue.</summary>
    private static readonly Dictionary<string, string> Queues = new()
    {
        ["ResumeIngest"] = QueueNames.Ingest,
        ["UpsertSlice"] = QueueNames.Slices,
        ["MatchSubscribers"] = QueueNames.Match,
        ["SendNotifications"] = QueueNames.Mail,
        ["LogLoad"] = QueueNames.Journal,
        ["CallClients"] = QueueNames.Calls,
        ["DeliverCallbacks"] = QueueNames.Callbacks,
        ["AppendPasswords"] = QueueNames.PasswordsAppend,
        ["RollUpAccess"] = QueueNames.AccessRollUp,
        ["ImportPasswords"] = QueueNames.PasswordsImport,
        ["HandleCommand"] = QueueNames.Commands,
    };

    /// <summary>The function of each blob path.</summary>
    private static readonly Dictionary<string, string> Blobs = new()
    {
        ["IngestBreach"] = $"{IBreachBlobs.Container}/{{name}}",
        ["PlanPasswords"] = $"{IPasswordDrops.Container}/{{name}}",
    };

    [CompiledFact]
    public async Task Queues_match_the_code_and_each_has_a_poison_queue()
    {
        var expected = QueueNames.All.SelectMany(queue => new[] { queue, queue + QueueNames.PoisonSuffix }).Append(BlobPoisonQueue);
        Assert.Equal(expected.Order(StringComparer.Ordinal), (await NamesAsync("queueServices/queues")).Order(StringComparer.Ordinal));
        Assert.Equal(QueueNames.All.Order(StringComparer.Ordinal), Queues.Values.Order(StringComparer.Ordinal));
        Assert.Equal(QueueNames.All, MessageRoutes.All.Select(route => route.Queue));
    }

    [CompiledFact]
    public async Task Tables_and_containers_match_the_code()
    {
        var (options, first) = (new StorageOptions(), new HibpIngest.Stores.LayoutFacts());
        Assert.Equal(
            new[]
            {
                first.AccountsTable, first.RangesTable, IApiKeys.Table, ISignIns.Table, options.RegisterTable,
                IPasswordAppends.Name, IUsageTable.Name, ICallbackClients.Table,
            }.Order(StringComparer.Ordinal),
            (await NamesAsync("tableServices/tables")).Order(StringComparer.Ordinal));

        var undelivered = await BicepFiles.OutputAsync(BicepFiles.Everything, "undeliveredContainer");
        Assert.Equal(options.BreachContainer, await BicepFiles.OutputAsync(BicepFiles.Everything, "dropContainer"));
        Assert.Equal(
            new[]
            {
                options.BreachContainer, ICatalogueBlobs.Container, options.PasswordsContainer, options.PasswordDropsContainer,
                IJournalBlobs.Container, IAccessBlobs.Container, IPrefixBlobs.Container, ICallbackBlobs.Container,
                IPasswordAppends.Name, undelivered,
            }.Order(StringComparer.Ordinal),
            (await NamesAsync("blobServices/containers")).Order(StringComparer.Ordinal));
        // A replica has a copy of one container only.
        Assert.Equal([options.PasswordsContainer], await NamesAsync("blobServices/containers", "hibprepl"));
        // The host creates the rest of its storage account itself.
        foreach (var (app, host) in new[] { ("app", "hibphost"), ("web", "hibpwebh"), ("web2", "hibpweb2") })
        {
            var package = Properties(await BicepFiles.SiteAsync(BicepFiles.Everything, app)).GetProperty("functionAppConfig")
                .GetProperty("deployment").GetProperty("storage").GetProperty("value").GetString()!.Split('\'')[^2];
            Assert.Equal([package], await NamesAsync("blobServices/containers", host));
            Assert.Empty(await NamesAsync("queueServices/queues", host));
            Assert.Empty(await NamesAsync("tableServices/tables", host));
        }
    }

    [Fact]
    public void Each_function_is_a_class_of_its_name()
    {
        foreach (var (functions, assembly) in new[]
        {
            (AppFunctions.Pipeline, typeof(IngestBreachFunction).Assembly), (AppFunctions.Api, typeof(WebFunction).Assembly),
        })
        {
            Assert.Equal(
                functions.Keys.Select(name => $"{name}Function").Order(StringComparer.Ordinal),
                assembly.GetExportedTypes().Select(type => type.Name).Where(name => name.EndsWith("Function", StringComparison.Ordinal))
                .Order(StringComparer.Ordinal));
        }
    }

    [Fact]
    public void Triggers_watch_the_queues_and_containers_that_the_code_writes()
    {
        Assert.Equal(
            Queues.OrderBy(one => one.Key, StringComparer.Ordinal),
            AppFunctions.Of<QueueTriggerAttribute>(trigger => trigger.QueueName).OrderBy(one => one.Key, StringComparer.Ordinal));
        Assert.Equal(
            Blobs.OrderBy(one => one.Key, StringComparer.Ordinal),
            AppFunctions.Of<BlobTriggerAttribute>(trigger => trigger.BlobPath).OrderBy(one => one.Key, StringComparer.Ordinal));
        // Flex Consumption supports no other.
        Assert.All(
            AppFunctions.Of<BlobTriggerAttribute>(trigger => $"{trigger.Source}").Values,
            source => Assert.Equal(nameof(BlobTriggerSource.EventGrid), source));
        Assert.Equal(
            ("Sweep", "0 * * * * *"), Assert.Single(AppFunctions.Of<TimerTriggerAttribute>(trigger => trigger.Schedule)) is var timer
            ? (timer.Key, timer.Value) : default);
        var health = Assert.IsType<HttpTriggerAttribute>(AppFunctions.Pipeline["Health"]);
        Assert.Equal(("health", AuthorizationLevel.Anonymous, "get"), (health.Route, health.AuthLevel, Assert.Single(health.Methods!)));
        var web = Assert.IsType<HttpTriggerAttribute>(Assert.Single(AppFunctions.Api).Value);
        Assert.Equal(("{*path}", AuthorizationLevel.Anonymous), (web.Route, web.AuthLevel));
        Assert.Equal(["delete", "get", "head", "options", "post", "put"], web.Methods!.Order(StringComparer.Ordinal));
    }

    [CompiledFact]
    public async Task Event_subscriptions_deliver_drops_to_the_functions_with_blob_triggers()
    {
        var events = await BicepFiles.TemplateAsync("infra/events.bicep");
        var variables = events.GetProperty("variables");
        var text = variables.EnumerateObject().Aggregate(
            events.GetProperty("resources").GetRawText(),
            (text, variable) => text.Replace($"variables('{variable.Name}')", $"{variable.Value}", StringComparison.Ordinal));
        var made = JsonDocument.Parse(text).RootElement.EnumerateArray()
            .ToDictionary(one => one.GetProperty("name").GetString()!.Split('\'')[^2], Properties);
        Assert.Equal(Blobs.Count, made.Count);
        AssertSubscription(made["zips"], "IngestBreach", "parameters('dropContainer')", onlyBreaches: true);
        AssertSubscription(made["passwords"], "PlanPasswords", IPasswordDrops.Container, onlyBreaches: false);
    }

    [CompiledFact]
    public async Task App_settings_of_the_pipeline_are_those_that_the_app_reads()
    {
        var environment = await SettingsAsync("app");
        Assert.Contains("HIBP_SECRET_KEY", environment.Keys);
        Assert.Contains("HIBP_SUPPRESSION_KEY", environment.Keys);

        var read = FunctionsAppSettings.ReadPipeline(environment);
        Assert.Empty(read.UnknownVariables);
        Assert.Equal(
            (Sample("HIBP_STORAGE"), Sample("HIBP_DATABASE"), Sample("HIBP_MAIL"), Sample("HIBP_SECRET_KEY")),
            (read.Storage, read.Database, read.Mail, read.SecretKey));
        Assert.Equal(
            (7, 1_234_567, Sample("HIBP_MAIL_FROM")),
            (read.Get<UpsertOptions>().TransactionsInFlight, read.Get<IngestOptions>().DedupeCap, read.Get<MailOptions>().MailFrom));
        Assert.Equal(NotifyMode.Hold, read.Get<MailOptions>().Notify);
        Assert.Equal(Sample("HIBP_WEB_URL"), read.Get<SiteOptions>().WebUrl);

        // An ingest must end by itself before the host ends it.
        var cutOff = TimeSpan.Parse(HostJson().GetProperty("functionTimeout").GetString()!, CultureInfo.InvariantCulture);
        var ingest = read.Get<IngestOptions>();
        Assert.True(ingest.TimeBudget > TimeSpan.Zero && ingest.PlanLimit < cutOff, $"{ingest.TimeBudget}, {ingest.PlanLimit}, {cutOff}");

        // The host's connection and the triggers', by identity. A blob trigger needs the queue service too, for
        // poison blobs
        // (learn.microsoft.com/azure/azure-functions/functions-bindings-storage-blob-trigger#identity-based-connections).
        string[] expected =
        [
            "AzureWebJobsStorage__accountName", "AzureWebJobsStorage__clientId", "AzureWebJobsStorage__credential",
            "BreachStorage__blobServiceUri", "BreachStorage__clientId", "BreachStorage__credential", "BreachStorage__queueServiceUri",
        ];
        var connections = environment.Where(setting => setting.Key.Contains("Storage__", StringComparison.Ordinal)).ToDictionary();
        Assert.Equal(expected, connections.Keys.Order(StringComparer.Ordinal));
        foreach (var connection in new[] { "AzureWebJobsStorage", FunctionsAppSettings.BreachStorage })
            Assert.Equal("managedidentity", connections[$"{connection}__credential"]);
        AssertOverrides(environment.Keys);
    }

    [CompiledFact]
    public async Task App_settings_of_the_web_are_those_that_the_app_reads()
    {
        var environment = await SettingsAsync("web");
        var read = FunctionsAppSettings.ReadApi(environment);
        Assert.Empty(read.UnknownVariables);
        Assert.Equal(
            (Sample("HIBP_STORAGE"), Sample("HIBP_WEB_URL"), 1),
            (read.Storage, read.Get<SiteOptions>().WebUrl, read.Get<WebOptions>().Proxies));
        Assert.Equal(Sample("HIBP_PASSWORDS_NEAREST"), read.Get<PasswordOptions>().PasswordsNearest);
        Assert.Equal("managedidentity", environment["AzureWebJobsStorage__credential"]);
        AssertOverrides(environment.Keys, WebHost);
        // The host reads one of the variables and not the other.
        Assert.Contains(TelemetryExport.OwnApplicationInsightsVariable, environment.Keys);
        Assert.DoesNotContain(TelemetryExport.ApplicationInsightsVariable, environment.Keys);
    }

    [Fact]
    public void Triggers_watch_the_breach_account_and_not_the_host_account()
    {
        // The other triggers have no connection: a timer's lock is in the host's storage account.
        Assert.All(
            AppFunctions.Of<QueueTriggerAttribute>(trigger => trigger.Connection!).Concat(
                AppFunctions.Of<BlobTriggerAttribute>(trigger => trigger.Connection!)),
            trigger => Assert.Equal((trigger.Key, FunctionsAppSettings.BreachStorage), (trigger.Key, trigger.Value)));
        using var example = JsonDocument.Parse(DocumentFiles.Read("local.settings.example.json"));
        var values = example.RootElement.GetProperty("Values");
        foreach (var name in new[] { "AzureWebJobsStorage", FunctionsAppSettings.BreachStorage })
            Assert.Equal("UseDevelopmentStorage=true", values.GetProperty(name).GetString());
        AssertOverrides(values.EnumerateObject().Select(value => value.Name));
    }

    [CompiledFact]
    public async Task Dedupe_cap_follows_the_memory_everywhere()
    {
        var main = await BicepFiles.TemplateAsync("infra/main.bicep");
        var caps = main.GetProperty("variables").GetProperty("dedupeCaps").EnumerateObject()
            .ToDictionary(one => int.Parse(one.Name, CultureInfo.InvariantCulture), one => one.Value.GetInt64());
        Assert.Equal(Allowed(main, "instanceMemoryMB"), caps.Keys.Select(memory => $"{memory}"));
        // The program's own default if the runtime may use three quarters of the instance, as in a container.
        foreach (var (memory, cap) in caps)
            Assert.InRange(cap, 1, DedupeSet.DefaultCap(memory * 1024L * 1024 * 3 / 4));
        Assert.Equal(DedupeSet.DefaultCap(long.MaxValue / 2), caps[4096]);

        // Computed in one place; an instance size or the operator may override it.
        Assert.Equal(0, Parameter(main, "dedupeCap", "defaultValue").GetInt32());
        var app = Assert.Single(
            main.GetProperty("resources").EnumerateArray(),
            one => one.GetProperty("type").GetString() == "Microsoft.Resources/deployments"
                && one.GetProperty("name").GetString() == "[format('{0}-app', parameters('name'))]");
        Assert.Equal(
            "[if(greater(parameters('dedupeCap'), 0), createObject('value', parameters('dedupeCap')), "
            + "createObject('value', variables('dedupeCaps')[string(parameters('instanceMemoryMB'))]))]",
            Properties(app).GetProperty("parameters").GetProperty("dedupeCap").GetString());
        foreach (var size in new[] { BicepFiles.Everything, BicepFiles.Least })
        {
            var memory = Scaling(await BicepFiles.SiteAsync(size, "app")).GetProperty("instanceMemoryMB").GetInt32();
            Assert.Equal((size, $"{caps[memory]}"), (size, await BicepFiles.SettingAsync(size, "app", "HIBP_DEDUPECAP")));
        }
        Assert.Equal(caps.Select(one => $"{one.Key}) echo {one.Value}"), Patterns.Find(DocumentFiles.Read(Scale), @"\b\d+\) echo \d{7,}"));
        Assert.Contains("HIBP_DEDUPECAP=", DocumentFiles.Read(Scale), StringComparison.Ordinal);
    }

    [CompiledFact]
    public async Task Mails_are_held_for_an_operator_at_full_power()
    {
        var main = await BicepFiles.TemplateAsync("infra/main.bicep");
        Assert.Equal(Enum.GetNames<NotifyMode>().Select(name => name.ToLowerInvariant()), Allowed(main, "notify"));
        Assert.Equal("hold", await BicepFiles.SettingAsync(BicepFiles.Everything, "app", "HIBP_NOTIFY"));
        Assert.Equal("send", await BicepFiles.SettingAsync(BicepFiles.Least, "app", "HIBP_NOTIFY"));
    }

    [CompiledFact]
    public async Task Always_ready_instances_are_of_existing_functions_and_fit_the_maximum()
    {
        foreach (var size in new[] { BicepFiles.Everything, BicepFiles.Least })
        {
            foreach (var group in ReadyGroups(await BicepFiles.SiteAsync(size, "app")))
            {
                if (group == "blob")
                    Assert.NotEmpty(AppFunctions.Of<BlobTriggerAttribute>(trigger => trigger.BlobPath));
                else
                    Assert.Contains(
                        AppFunctions.Pipeline.Where(function => function.Value is QueueTriggerAttribute or TimerTriggerAttribute),
                        function => group == $"function:{function.Key}");
            }
        }
        // The API's one function is an app of its own.
        Assert.All(ReadyGroups(await BicepFiles.SiteAsync(BicepFiles.Everything, "web")), group => Assert.Equal("http", group));
        // Each group scales separately, and a group without an instance must wait for another to end.
        var least = Parameter(await BicepFiles.TemplateAsync("infra/main.bicep"), "maximumInstanceCount", "minValue").GetInt32();
        Assert.True(least > AppFunctions.Pipeline.Count);

        static IEnumerable<string> ReadyGroups(JsonElement site) =>
            Scaling(site).GetProperty("alwaysReady").EnumerateArray().Select(ready => ready.GetProperty("name").GetString()!);
    }

    [CompiledFact]
    public async Task Scripts_use_only_existing_outputs_and_parameters()
    {
        var main = await BicepFiles.TemplateAsync("infra/main.bicep");
        var outputs = main.GetProperty("outputs").EnumerateObject().Select(output => output.Name).ToHashSet();
        var parameters = main.GetProperty("parameters").EnumerateObject().Select(parameter => parameter.Name).ToHashSet();
        foreach (var script in new[] { Deploy, Scale })
        {
            var text = DocumentFiles.Read(script);
            var asked = Patterns.Find(text, @"\$\(output (?<found>\w+)\)|outputs\.(?<found>\w+)\b").ToList();
            Assert.True(asked.Count >= 3, script);
            Assert.All(asked, name => Assert.True(outputs.Contains(name), $"{script}: main.bicep has no output {name}"));
            Assert.All(
                Patterns.Find(text, @"parameters\.(?<found>\w+)"),
                name => Assert.True(parameters.Contains(name), $"{script}: main.bicep has no parameter {name}"));
        }
        var events = (await BicepFiles.TemplateAsync("infra/events.bicep")).GetProperty("parameters").EnumerateObject();
        var lines = DocumentFiles.Read(Deploy).Split("events.bicep", 2)[1].Split('\n');
        Assert.Equal(
            events.Select(parameter => parameter.Name).Order(StringComparer.Ordinal),
            Patterns.Find(lines[0] + lines[1], @"""(?<found>\w+)=\$").Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Deploy_script_sets_or_explains_the_environment_variables_of_the_sizes()
    {
        foreach (var size in InfraFiles.List(".bicepparam"))
        {
            var names = Patterns.Find(DocumentFiles.Read(size), @"readEnvironmentVariable\('(?<found>\w+)'").ToList();
            Assert.NotEmpty(names);
            Assert.All(names, name => Assert.Contains(name, DocumentFiles.Read(Deploy), StringComparison.Ordinal));
        }
    }

    [Fact]
    public void Database_role_and_grant_script_variables_are_the_same_everywhere()
    {
        var grant = DocumentFiles.Read("infra/sql/grant.sql");
        foreach (var variable in Patterns.Find(grant, @"\$\((?<found>\w+)\)").Distinct())
            Assert.Contains($"\"{variable}=", DocumentFiles.Read(Deploy), StringComparison.Ordinal);
        var schema = Directory.GetFiles(Path.Combine(DocumentFiles.Root, "src", "HibpIngest.Storage.Sql", "SqlServer", "Schema"), "*.sql")
            .Select(File.ReadAllText);
        var role = Assert.Single(schema.SelectMany(script => Patterns.Find(script, @"CREATE ROLE (?<found>\w+)")));
        Assert.Contains($"ALTER ROLE {role} ADD MEMBER", grant, StringComparison.Ordinal);
        Assert.Contains($"DATABASE_PRINCIPAL_ID('{role}') IS NULL", grant, StringComparison.Ordinal);
    }

    private static void AssertSubscription(JsonElement properties, string function, string container, bool onlyBreaches)
    {
        Assert.Contains("/runtime/webhooks/blobs?functionName=Host.Functions.{1}&", Endpoint(), StringComparison.Ordinal);
        Assert.Contains($".defaultHostName, {function}, listKeys(", Endpoint(), StringComparison.Ordinal);

        var filter = properties.GetProperty("filter");
        Assert.Equal(
            $"[format('/blobServices/default/containers/{{0}}/blobs/', {container})]", filter.GetProperty("subjectBeginsWith").GetString());
        Assert.False(filter.TryGetProperty("subjectEndsWith", out _));
        Assert.Equal("Microsoft.Storage.BlobCreated", Assert.Single(filter.GetProperty("includedEventTypes").EnumerateArray()).GetString());
        // Operations that leave a complete blob: learn.microsoft.com/azure/event-grid/event-schema-blob-storage
        var advanced = filter.GetProperty("advancedFilters").EnumerateArray().ToDictionary(
            one => (one.GetProperty("operatorType").GetString(), one.GetProperty("key").GetString()),
            one => one.GetProperty("values").EnumerateArray().Select(value => value.GetString()!).ToList());
        Assert.Equal(
            ["CopyBlob", "FlushWithClose", "PutBlob", "PutBlockList"], advanced[("StringIn", "data.api")].Order(StringComparer.Ordinal));
        Assert.Equal(onlyBreaches ? 2 : 1, advanced.Count);
        if (onlyBreaches)
        {
            var endings = advanced[("StringEndsWith", "subject")];
            Assert.Equal(BreachFiles.Endings.Order(StringComparer.Ordinal), endings.Order(StringComparer.Ordinal));
            Assert.All(BreachFiles.Extensions, one => Assert.Single(endings, ending => one.EndsWith(ending, StringComparison.Ordinal)));
            // learn.microsoft.com/azure/event-grid/event-filtering#limitations
            Assert.InRange(advanced.Sum(one => one.Value.Count), 1, 25);
        }

        string Endpoint() =>
            properties.GetProperty("destination").GetProperty("properties").GetProperty("endpointUrl").GetString()!;
    }

    /// <summary>Asserts that settings named AzureFunctionsJobHost__a__b override a value that host.json has.</summary>
    private static void AssertOverrides(IEnumerable<string> names, string host = "host.json")
    {
        foreach (var name in names.Where(name => name.StartsWith("AzureFunctionsJobHost__", StringComparison.Ordinal)))
        {
            var value = HostJson(host);
            foreach (var part in name.Split("__")[1..])
                Assert.True(value.TryGetProperty(part, out value), $"{name}: {host} has no {part}");
        }
    }

    private static string SigningKey
    {
        get
        {
            using var key = RSA.Create(2048);
            return key.ExportPkcs8PrivateKeyPem();
        }
    }

    private static string CommandKeySample => Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]);

    private static string Sample(string setting) => setting switch
    {
        "HIBP_STORAGE" => "hibpabc123",
        "HIBP_PASSWORDS_NEAREST" => "hibpreplabc123",
        "HIBP_DATABASE" => "hibp.db",
        "HIBP_MAIL" => "smtp://mail.example:587?tls=starttls",
        "HIBP_MAIL_FROM" => "notifications@contoso.example",
        "HIBP_WEB_URL" => "https://breaches.contoso.example",
        "HIBP_SERVICE_CONTACT" or "HIBP_UNSUBSCRIBE_MAILTO" => "help@contoso.example",
        "HIBP_SECRET_KEY" or "HIBP_SUPPRESSION_KEY" or "HIBP_LINK_KEYS" or "HIBP_TICKET_KEY" => Convert.ToBase64String(new byte[32]),
        "HIBP_COMMAND_KEY" => CommandKeySample,
        "HIBP_COMMAND_PUBLIC_KEY" => CommandKey.Parse(CommandKeySample)!.PublicKey,
        "HIBP_DKIM_DOMAIN" => "contoso.example",
        "HIBP_DKIM_KEY" => SigningKey,
        "HIBP_TRANSACTIONSINFLIGHT" => "7",
        "HIBP_DEDUPECAP" => "1234567",
        "HIBP_NOTIFY" => "hold",
        "HIBP_PROXIES" => "1",
        _ => "something",
    };

    /// <summary>Returns the names of a storage account's resources of a type; the account's name is given without its hash.</summary>
    private static async Task<IReadOnlyList<string>> NamesAsync(string type, string account = "hibp") =>
    [
        .. (await BicepFiles.ResourcesAsync(BicepFiles.Everything, $"Microsoft.Storage/storageAccounts/{type}"))
            .Select(resource => resource.GetProperty("name").GetString()!.Split('/'))
            .Where(parts => parts[0].Length == account.Length + 13 && parts[0].StartsWith(account, StringComparison.Ordinal))
            .Select(parts => parts[^1]),
    ];

    /// <summary>Returns all settings that an app can have, as the app reads them.</summary>
    private static async Task<Dictionary<string, string>> SettingsAsync(string app)
    {
        var variables = (await BicepFiles.TemplateAsync($"infra/modules/{app}.bicep")).GetProperty("variables");
        var environment = variables.GetProperty("settings").EnumerateObject().ToDictionary(
            setting => setting.Name,
            setting => setting.Value.GetString() is { } text && !text.StartsWith('[') ? text : Sample(setting.Name));
        // Settings that are left out if empty.
        foreach (var optional in variables.EnumerateObject().Where(one => one.Value.ValueKind == JsonValueKind.String))
            foreach (var name in Patterns.Find(optional.Value.GetString()!, @"createObject\('(?<found>HIBP_\w+)'"))
                environment.Add(name, Sample(name));
        return environment;
    }

    private static JsonElement Scaling(JsonElement site) =>
        Properties(site).GetProperty("functionAppConfig").GetProperty("scaleAndConcurrency");

    private static JsonElement Properties(JsonElement resource) => resource.GetProperty("properties");

    private static JsonElement Parameter(JsonElement template, string name, string property) =>
        template.GetProperty("parameters").GetProperty(name).GetProperty(property);

    private static IEnumerable<string> Allowed(JsonElement template, string parameter) =>
        Parameter(template, parameter, "allowedValues").EnumerateArray().Select(value => value.ToString());

    private static JsonElement HostJson(string file = "host.json") => JsonDocument.Parse(DocumentFiles.Read(file)).RootElement;
}
