namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>
/// Tests the scripts, run by bash. No Azure is needed: az, sqlcmd, dotnet and curl are replaced by programs that record
/// their arguments. The tests check the order of calls, their arguments, and what is left behind.
/// </summary>
public sealed class ScriptTests
{
    private const string Address = "203.0.113.7";

    [Fact]
    public async Task Scripts_are_valid_bash_and_print_their_usage()
    {
        var scripts = InfraFiles.List(".sh");
        Assert.Equal(["infra/deploy.sh", "infra/scale.sh"], scripts);
        foreach (var script in scripts)
        {
            var parsed = await InfraFiles.RunAsync("bash", ["-n", script]);
            Assert.Equal((0, "", ""), (parsed.ExitCode, parsed.Output, parsed.Error));
            var (exitCode, output, error) = await InfraFiles.RunAsync("bash", [script, "--help"]);
            Assert.Equal((0, ""), (exitCode, error));
            Assert.StartsWith($"Usage: {script} ", output, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("deploy.sh", "--group is required")]
    [InlineData("deploy.sh --group", "--group requires a value")]
    [InlineData("deploy.sh --grup x", "unknown option '--grup'")]
    [InlineData("deploy.sh -g x --size huge", "--size: expected smallest or full-power, found 'huge'")]
    [InlineData("deploy.sh -g x --name Hibp", "--name: expected 3 to 11 lower-case letters and digits, found 'Hibp'")]
    [InlineData("scale.sh sideways -g x", "expected up, down or show, found 'sideways'")]
    [InlineData("scale.sh up", "--group is required")]
    [InlineData("scale.sh up -g x --vcores 3", "--vcores: expected 1, 2, 4, 6, ... 20, 24, 32, 40 or 80, found 3")]
    [InlineData("scale.sh up -g x --instances 5", "--instances: expected 10 to 1000, found 5")]
    [InlineData("scale.sh up -g x --batch 33", "--batch: expected 1 to 32, found 33")]
    [InlineData("scale.sh up -g x --memory much", "expected a whole number, found 'much'")]
    public async Task Invalid_command_line_fails_with_one_line(string command, string expected)
    {
        var words = command.Split(' ');
        var (exitCode, output, error) = await InfraFiles.RunAsync(
            "bash", [$"infra/{words[0]}", .. words[1..]], new Dictionary<string, string?> { ["PATH"] = "/usr/bin:/bin" });
        Assert.Equal((1, ""), (exitCode, output));
        Assert.Contains(expected, Assert.Single(error.TrimEnd().Split('\n')), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Deploy_sets_up_the_database_before_the_code_and_the_subscription_after_it()
    {
        using var azure = new RecordedAzure();
        var output = await azure.SucceedAsync("infra/deploy.sh", "-g", "breaches", "-l", "westeurope", "--size", "full-power");
        Assert.Equal(
        [
            "dotnet publish ",
            "dotnet publish ",
            "az group create -n breaches -l westeurope",
            "az deployment group create -g breaches -n hibp-main -p ",
            "az sql server firewall-rule create -g breaches -s sqlServerName-value -n deploy-",
            "dotnet run --project ",
            "sqlcmd -S sqlServerHost-value -d sqlDatabaseName-value --authentication-method ActiveDirectoryAzCli -b -i ",
            "az functionapp deployment source config-zip -g breaches -n appName-value --src ",
            "az functionapp deployment source config-zip -g breaches -n webAppName-value --src ",
            "az functionapp keys list -g breaches -n appName-value",
            "az deployment group create -g breaches -n hibp-events -f ",
            "az sql server firewall-rule delete -g breaches -s sqlServerName-value -n deploy-",
        ], azure.Steps, (expected, actual) => actual.StartsWith(expected, StringComparison.Ordinal));
        var calls = string.Join('\n', azure.Calls);
        Assert.Contains("full-power.bicepparam", calls, StringComparison.Ordinal);
        Assert.Contains($"--start-ip-address {Address} --end-ip-address {Address}", calls, StringComparison.Ordinal);
        // The app gets access; the user who runs the script is the administrator.
        Assert.Contains("grant.sql -v Name=identityName-value -v Id=identityClientId-value -v Kind=E", calls, StringComparison.Ordinal);
        Assert.Contains("database upgrade --database sqlConnection-value", calls, StringComparison.Ordinal);
        Assert.Contains("appName=appName-value storageAccountName=storageAccountName-value eventTopicName=eventTopicName-value "
            + "dropContainer=dropContainer-value undeliveredContainer=undeliveredContainer-value", calls, StringComparison.Ordinal);
        Assert.Equal(
            ["app.zip", "web.zip"], azure.Calls.Where(call => call.Contains("-p:PackageFile=", StringComparison.Ordinal))
            .Select(call => call.Split('/')[^1]));
        Assert.Equal(["-n appName-value app.zip", "-n webAppName-value web.zip"], Uploads(azure));
        Assert.Contains(
            "The API (create keys with hibp keys create NAME): webUrl-value\n\nBefore a large load", output,
            StringComparison.Ordinal);
        Assert.DoesNotContain("HIBP_PASSWORDS_REPLICAS", output, StringComparison.Ordinal);
        Assert.Contains(
            "az storage blob upload --auth-mode login --account-name storageAccountName-value -c dropContainer-value", output,
            StringComparison.Ordinal);
        // Only Event Grid gets the webhook's key, and only the app the mail server's password.
        Assert.DoesNotContain("webhook-key", output, StringComparison.Ordinal);
        Assert.DoesNotContain("mail-password", output + calls, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Second_deployment_creates_no_group_and_without_a_web_app_uploads_only_the_pipeline()
    {
        using var azure = new RecordedAzure(groupExists: true);
        azure.Environment["DEPLOY_WEB"] = "false";
        var output = await azure.DeployAsync();
        Assert.Contains("-n appName-value ", Assert.Single(
            azure.Calls, call => call.Contains("config-zip", StringComparison.Ordinal)), StringComparison.Ordinal);
        Assert.Contains("The API (create keys with hibp keys create NAME): not deployed", output, StringComparison.Ordinal);
        Assert.DoesNotContain(
            azure.Calls, call => call.StartsWith("az group create", StringComparison.Ordinal) || call.Contains(
                "firewall-rule", StringComparison.Ordinal));
        Assert.Contains(azure.Calls, call => call.Contains("smallest.bicepparam", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Deploy_to_a_second_region_uploads_the_web_package_and_explains_replication()
    {
        using var azure = new RecordedAzure(groupExists: true);
        azure.Environment["DEPLOY_SECOND_LOCATION"] = "eastus2";
        var output = await azure.DeployAsync();
        Assert.Equal(["-n appName-value app.zip", "-n webAppName-value web.zip", "-n secondWebAppName-value web.zip"], Uploads(azure));
        Assert.Contains("The same API in eastus2: secondWebUrl-value. It reads Pwned Passwords from replicaAccountName-value, once hibp "
            + "has copied them there:\n   export HIBP_PASSWORDS_REPLICAS=replicaAccountName-value\n   hibp passwords replicate\n\n"
            + "Before a large load", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("User", "E", "77777777-8888-9999-aaaa-bbbbbbbbbbbb")]
    [InlineData("Group", "X", "77777777-8888-9999-aaaa-bbbbbbbbbbbb")]
    [InlineData("ServicePrincipal", "E", "cccccccc-dddd-eeee-ffff-000000000000")]
    public async Task Deploy_grants_another_operator_the_same_database_access_as_the_app(string type, string kind, string id)
    {
        using var azure = new RecordedAzure(groupExists: true);
        azure.Environment["DEPLOY_OPERATOR_ID"] = "77777777-8888-9999-aaaa-bbbbbbbbbbbb";
        azure.Environment["DEPLOY_OPERATOR_NAME"] = "o'brien";
        azure.Environment["DEPLOY_OPERATOR_TYPE"] = type;
        await azure.DeployAsync();
        Assert.Equal(
        [
            "-v Name=identityName-value -v Id=identityClientId-value -v Kind=E",
            $"-v Name=o''brien -v Id={id} -v Kind={kind}",
        ], azure.Calls.Select(call => call.Split("grant.sql ")).Where(parts => parts.Length > 1).Select(parts => parts[1]));
        // The template's parameters.
        Assert.Equal(["77777777-8888-9999-aaaa-bbbbbbbbbbbb", type, ""], azure.Principals);

        azure.Environment["DEPLOY_OPERATOR_NAME"] = null;
        var (exitCode, _, error) = await azure.RunAsync("infra/deploy.sh", "-g", "breaches", "--ip", "none");
        Assert.Equal((1, "deploy: DEPLOY_OPERATOR_ID is set and DEPLOY_OPERATOR_NAME is not"), (exitCode, error.Trim()));
    }

    [Fact]
    public async Task Deploy_makes_the_signed_in_user_the_operator_and_sets_a_dropper_only_if_named()
    {
        using var azure = new RecordedAzure(groupExists: true);
        await azure.DeployAsync();
        Assert.Equal(["11111111-2222-3333-4444-555555555555", "User", ""], azure.Principals);
        azure.Environment["DEPLOY_DROPPER_ID"] = "99999999-0000-0000-0000-000000000000";
        await azure.DeployAsync();
        Assert.Equal(["11111111-2222-3333-4444-555555555555", "User", "99999999-0000-0000-0000-000000000000"], azure.Principals);
    }

    [Theory]
    [InlineData("", "", "", "")]
    [InlineData("", "", "given", "given")]
    [InlineData("hibp-app-x", "", "given", "given")]
    [InlineData("hibp-app-x", "kept", "", "kept")]
    [InlineData("hibp-app-x", "kept", "kept", "kept")]
    [InlineData("hibp-app-x", "kept", "given", null)]
    public async Task Deployed_suppression_key_is_kept_and_a_different_one_is_refused(
        string app, string deployed, string given, string? expected)
    {
        using var azure = new RecordedAzure(groupExists: true);
        azure.Environment["DEPLOYED_APP"] = app;
        azure.Environment["DEPLOYED_SUPPRESSION_KEY"] = deployed;
        azure.Environment["DEPLOYED_SECRET_KEY"] = "sealing";
        azure.Environment["HIBP_SUPPRESSION_KEY"] = given;
        var (exitCode, output, error) = await azure.RunAsync("infra/deploy.sh", "-g", "breaches", "--ip", "none");
        Assert.DoesNotContain("kept", string.Join('\n', azure.Calls), StringComparison.Ordinal);
        if (expected is null)
        {
            Assert.Equal(
                (1, "deploy: HIBP_SUPPRESSION_KEY differs from the key of hibp-app-x, under which addresses are suppressed: unset it to "
                    + "keep the deployed key"), (exitCode, error.Trim()));
            Assert.DoesNotContain(azure.Calls, call => call.Contains("deployment group create", StringComparison.Ordinal));
            return;
        }
        Assert.True(exitCode == 0, output + error);
        Assert.Equal([expected, app.Length > 0 ? "sealing" : ""], azure.Keys);

        // Giving another secret key changes it, as the operator intends.
        azure.Environment["HIBP_SECRET_KEY"] = "new,sealing";
        await azure.DeployAsync();
        Assert.Equal([expected, "new,sealing"], azure.Keys);
    }

    [Fact]
    public async Task Unreadable_settings_stop_the_deployment_before_they_are_overwritten()
    {
        foreach (var fails in (string[])["functionapp list", "appsettings list"])
        {
            using var azure = new RecordedAzure(groupExists: true, fails);
            azure.Environment["DEPLOYED_APP"] = "hibp-app-x";
            Assert.Equal(1, (await azure.RunAsync("infra/deploy.sh", "-g", "breaches", "--ip", "none")).ExitCode);
            Assert.DoesNotContain(azure.Calls, call => call.Contains("deployment group create", StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task Failed_step_stops_the_deployment_closes_the_firewall_and_suggests_a_fix()
    {
        using var azure = new RecordedAzure(fails: "database upgrade");
        var (exitCode, _, error) = await azure.RunAsync("infra/deploy.sh", "-g", "breaches", "-l", "westeurope");
        Assert.Equal(1, exitCode);
        Assert.Contains("deploy: could not set up the schema (see above). Check that you are operator@contoso.example or a member of it, "
            + "and that SQL sees this machine as 203.0.113.7; then run this script again", error, StringComparison.Ordinal);
        Assert.Equal(6, azure.Calls.Count(call => call.Contains("database upgrade", StringComparison.Ordinal)));
        Assert.DoesNotContain(azure.Calls, call => call.Contains("config-zip", StringComparison.Ordinal));
        Assert.StartsWith("az sql server firewall-rule delete", azure.Calls[^1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task Missing_prerequisite_is_reported_before_anything_is_created()
    {
        using var azure = new RecordedAzure(fails: "account show");
        var (exitCode, _, error) = await azure.RunAsync("infra/deploy.sh", "-g", "breaches");
        Assert.Equal(
            (1, "deploy: not signed in to Azure: run az login, then az account set --subscription NAME"), (exitCode, error.Trim()));
        Assert.DoesNotContain(azure.Calls, call => call.Contains("create", StringComparison.Ordinal));

        azure.Environment["HIBP_MAIL"] = null;
        (exitCode, _, error) = await azure.RunAsync("infra/deploy.sh", "-g", "breaches");
        Assert.Equal((1, "deploy: HIBP_MAIL is not set (see --help)"), (exitCode, error.Trim()));
    }

    [Fact]
    public async Task Scale_changes_database_instances_and_settings_and_reports_hourly_costs()
    {
        using var azure = new RecordedAzure();
        var output = await azure.SucceedAsync(
            "infra/scale.sh", "up", "-g", "breaches", "--vcores", "40", "--instances", "50", "--memory", "2048", "--batch", "9");
        Assert.Contains(
            azure.Calls, call => call.EndsWith("--capacity 40 --min-capacity 5 --auto-pause-delay 60 -o none", StringComparison.Ordinal));
        Assert.Contains(azure.Calls, call => call.Contains("scale config set -g breaches -n appName-value --maximum-instance-count 50 "
            + "--instance-memory 2048", StringComparison.Ordinal));
        AssertSettings("queues__batchSize=9 AzureFunctionsJobHost__extensions__queues__newBatchThreshold=4 HIBP_DEDUPECAP=25000000");
        // The cap is raised after the memory.
        Assert.True(IndexOf("scale config set") < IndexOf("appsettings set"));
        // 40 vCores at 0.5, 5 awake; 50 instances of 2 GB at 0.00002 for 3600 s: the sizes and prices that the recorded programs return.
        Assert.Contains("20.00 USD with all 40 vCores busy, 2.50 awake and idle (5 vCores), 0 paused", output, StringComparison.Ordinal);
        Assert.Contains("7.20 USD with all 50 instances busy", output, StringComparison.Ordinal);

        await azure.SucceedAsync("infra/scale.sh", "down", "-g", "breaches");
        Assert.Contains(
            azure.Calls, call => call.EndsWith("--capacity 1 --min-capacity 0.5 --auto-pause-delay 60 -o none", StringComparison.Ordinal));
        Assert.Contains(azure.Calls, call => call.Contains("--maximum-instance-count 10 --instance-memory 512", StringComparison.Ordinal));
        AssertSettings("queues__batchSize=2 AzureFunctionsJobHost__extensions__queues__newBatchThreshold=1 HIBP_DEDUPECAP=2000000");
        // The cap is lowered before the memory.
        Assert.True(IndexOf("appsettings set") < IndexOf("scale config set"));
        azure.Environment["DEDUPE_CAP"] = "1500000";
        await azure.SucceedAsync("infra/scale.sh", "down", "-g", "breaches");
        AssertSettings("HIBP_DEDUPECAP=1500000");
        await azure.SucceedAsync("infra/scale.sh", "up", "-g", "breaches");
        AssertSettings("HIBP_DEDUPECAP=50000000");

        azure.Environment["NO_PRICES"] = "1";
        output = await azure.SucceedAsync("infra/scale.sh", "show", "-g", "breaches");
        Assert.Contains("x price of a vCore hour: https://azure.microsoft.com/pricing/", output, StringComparison.Ordinal);

        void AssertSettings(string end) => Assert.Contains(azure.Calls, call => call.EndsWith(end, StringComparison.Ordinal));
        int IndexOf(string call) => azure.Calls.ToList().FindIndex(one => one.Contains(call, StringComparison.Ordinal));
    }

    /// <summary>Returns which package was uploaded to which app.</summary>
    private static IEnumerable<string> Uploads(RecordedAzure azure) =>
        azure.Calls.Where(call => call.Contains("config-zip", StringComparison.Ordinal)).Select(call => call.Split(' '))
            .Select(words => $"-n {words[Array.IndexOf(words, "-n") + 1]} {Path.GetFileName(words[Array.IndexOf(words, "--src") + 1])}");

    /// <summary>
    /// az, dotnet, sqlcmd, curl and sleep as programs that write their arguments to a file and return what the
    /// scripts need.
    /// </summary>
    private sealed class RecordedAzure : IDisposable
    {
        private const string Program = """
            #!/bin/bash
            name=$(basename "$0")
            echo "$name $*" >> "$RECORD"
            principals() { printf '%s\n' "$DEPLOY_OPERATOR_ID" "$DEPLOY_OPERATOR_TYPE" "$DEPLOY_DROPPER_ID"; }
            keys() { printf '%s\n' "$HIBP_SUPPRESSION_KEY" "$HIBP_SECRET_KEY"; }
            if [[ "$*" == *bicepparam* ]]; then principals > "$RECORD.principals"; keys > "$RECORD.keys"; fi
            if [ -n "$FAILS" ] && [[ "$*" == *"$FAILS"* ]]; then exit 1; fi
            case "$name $*" in
              'sqlcmd --help') echo '--authentication-method' ;;
              *ipify*) echo 203.0.113.7 ;;
              *'user.type'*) echo user ;;
              *'userPrincipalName'*) echo operator@contoso.example ;;
              *'ad sp show --id 77777777-8888-9999-aaaa-bbbbbbbbbbbb --query appId'*) echo cccccccc-dddd-eeee-ffff-000000000000 ;;
              *'signed-in-user show --query id'*) echo 11111111-2222-3333-4444-555555555555 ;;
              *'group exists'*) echo "$GROUP_EXISTS" ;;
              *'query properties.outputs.second'* | *'query properties.outputs.replica'*)
                [ -z "$DEPLOY_SECOND_LOCATION" ] || { all="$*"; out=${all##*properties.outputs.}; echo "${out%%.value*}-value"; } ;;
              *'query properties.outputs.web'*)
                [ "$DEPLOY_WEB" = false ] || { all="$*"; out=${all##*properties.outputs.}; echo "${out%%.value*}-value"; } ;;
              *'query properties.outputs.'*) all="$*"; out=${all##*properties.outputs.}; echo "${out%%.value*}-value" ;;
              *'parameters.sqlMaxVCores.value'*) echo 1 ;;
              *'parameters.sqlMinVCores.value'*) echo 0.5 ;;
              *'parameters.sqlAutoPauseMinutes.value'*) echo 60 ;;
              *'parameters.maximumInstanceCount.value'*) echo 10 ;;
              *'parameters.instanceMemoryMB.value'*) echo 512 ;;
              *'parameters.queueBatchSize.value'*) echo 2 ;;
              *'parameters.dedupeCap.value'*) echo "$DEDUPE_CAP" ;;
              *'keys list'*) echo webhook-key ;;
              *'functionapp list '*) echo "$DEPLOYED_APP" ;;
              *'appsettings list '*HIBP_SUPPRESSION_KEY*) echo "$DEPLOYED_SUPPRESSION_KEY" ;;
              *'appsettings list '*HIBP_SECRET_KEY*) echo "$DEPLOYED_SECRET_KEY" ;;
              *'sku.capacity'*) echo 40 ;;
              *'query minCapacity'*) echo 5 ;;
              *'sql server show'*) echo westeurope ;;
              *'maximumInstanceCount -o'*) echo 50 ;;
              *'instanceMemoryMB -o'*) echo 2048 ;;
              *'az rest'*SQL*) [ -n "$NO_PRICES" ] || echo 0.5 ;;
              *'az rest'*) [ -n "$NO_PRICES" ] || echo 0.00002 ;;
            esac
            """;

        private readonly TemporaryFolder _folder = new();

        public RecordedAzure(bool groupExists = false, string fails = "")
        {
            foreach (var name in new[] { "az", "dotnet", "sqlcmd", "curl", "sleep" })
            {
                var path = _folder.Write(name, Program.ReplaceLineEndings("\n"));
                if (!OperatingSystem.IsWindows())
                    File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserExecute);
            }
            Environment = new Dictionary<string, string?>
            {
                ["PATH"] = $"{_folder.Path}:/usr/bin:/bin",
                ["RECORD"] = Record,
                ["FAILS"] = fails,
                ["GROUP_EXISTS"] = groupExists ? "true" : "false",
                ["NO_PRICES"] = "",
                ["DEDUPE_CAP"] = "0",
                ["HIBP_MAIL"] = "smtp://user:mail-password@mail.contoso.example:587?tls=starttls",
            };
        }

        public Dictionary<string, string?> Environment { get; }

        /// <summary>All calls of the current run.</summary>
        public IReadOnlyList<string> Calls => File.ReadAllLines(Record);

        /// <summary>The parameter file's operator id, operator type and dropper id.</summary>
        public IReadOnlyList<string> Principals => File.ReadAllLines($"{Record}.principals");

        /// <summary>The parameter file's keys: the suppression key, then the secret key.</summary>
        public IReadOnlyList<string> Keys => File.ReadAllLines($"{Record}.keys");

        /// <summary>Calls that change something.</summary>
        public IEnumerable<string> Steps =>
            Calls.Where(
                call => !call.Contains(" show ", StringComparison.Ordinal) && call.Split(' ')[0] is not ("curl" or "sleep")
                && call is not "sqlcmd --help" && !call.Contains("group exists", StringComparison.Ordinal));

        private string Record => Path.Combine(_folder.Path, "record");

        public Task<HibpResult> RunAsync(string script, params string[] arguments)
        {
            File.Delete(Record);
            return InfraFiles.RunAsync("bash", [script, .. arguments], Environment);
        }

        /// <summary>Runs a script that must succeed, and returns what it printed.</summary>
        public async Task<string> SucceedAsync(string script, params string[] arguments)
        {
            var result = (await RunAsync(script, arguments)).Succeeded();
            return result.Output + result.Error;
        }

        public Task<string> DeployAsync() => SucceedAsync("infra/deploy.sh", "-g", "breaches", "--ip", "none");

        public void Dispose() => _folder.Dispose();
    }
}
