namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests how each function ends: it succeeds, or fails with one line that the host may log.</summary>
public sealed class AnswerTests
{
    private static readonly HostAnswer Well = new(200, """{"status":"healthy"}""");

    [Fact]
    public async Task Unreadable_message_fails_without_repeating_its_content()
    {
        await using var host = await StartAsync();
        var functions = host.Worker.Triggers.Where(trigger => trigger.Value["queueName"] is not null).Select(trigger => trigger.Key);
        Assert.Equal(11, functions.Count());
        string[] bodies =
        [
            "", "hello", """{"load":""", "null", "[1]", "{}", "somebody@example.com", """{"version":1,"load":"somebody@example.com"}""",
            """{"version":99,"load":1,"slice":1}""", new string('[', 5_000), new string('x', 65_537), "\ud800", "\0",
        ];
        foreach (var function in functions)
        {
            foreach (var body in bodies)
            {
                var reason = (await host.InvokeMessageAsync(function, body)).AssertFailed();
                Assert.True(reason.Length < 400, $"{function}: {reason}");
                Assert.Matches("is not the JSON of|has version 99, expected 1", reason);
                Assert.True(body == "" || !reason.Contains(body, StringComparison.Ordinal), $"{function}: {reason}");
            }
        }
        await host.StopWorkerAsync();
        Assert.DoesNotContain('@', host.Worker.Said);
    }

    /// <summary>If the trigger were bound to a string, fields of the message would override the queue's own.</summary>
    [Fact]
    public async Task Message_cannot_forge_its_attempts()
    {
        await using var host = await StartAsync();
        (await host.InvokeTimerAsync()).AssertDone(); // sets up the stores
        const string Forged = """{"version":1,"load":17,"slice":42,"Id":"x","DequeueCount":5,"PopReceipt":"x"}""";
        (await host.InvokeMessageAsync("UpsertSlice", Forged)).AssertDone();
        Assert.All(
            host.Worker.Triggers.Where(trigger => trigger.Key is not ("Sweep" or "Health")),
            trigger => Assert.Equal("True", (string?)trigger.Value["properties"]?["supportsDeferredBinding"]));
    }

    [Fact]
    public async Task Timer_and_messages_of_missing_loads_succeed()
    {
        await using var host = await StartAsync();
        (await host.InvokeTimerAsync()).AssertDone();
        (await host.InvokeMessageAsync("UpsertSlice", """{"version":1,"load":17,"slice":42,"first":410001,"last":420000}""")).AssertDone();
        (await host.InvokeMessageAsync("MatchSubscribers", """{"version":1,"load":17}""")).AssertDone();
        (await host.InvokeMessageAsync("SendNotifications", """{"version":1,"load":17,"first":1,"last":2}""")).AssertDone();
        (await host.InvokeMessageAsync("ResumeIngest", """{"version":1,"load":17}""")).AssertDone();
        (await host.InvokeBlobAsync("Gone.zip")).AssertDone();
    }

    /// <summary>Three exits of a worker stop its host, so the worker has to survive whatever a message causes.</summary>
    [Fact]
    public async Task Exhausted_memory_fails_a_message_of_any_stage_and_not_the_worker()
    {
        await using var host = await StartAsync();
        (await host.IngestAsync("Adobe.zip", PipelineRig.Zip(("a.csv", "a@example.com")))).AssertDone();
        await host.StartWorkerAsync((StartupHook.Variable, StartupHook.File));
        var results = new Dictionary<string, InvocationResult>
        {
            ["IngestBreach"] = await host.InvokeBlobAsync("Adobe.zip"),
            ["Sweep"] = await host.InvokeTimerAsync(),
        };
        foreach (var (function, queue) in host.QueueFunctions())
            results.Add(function, await host.InvokeMessageAsync(function, StageMessages.Each[queue]));
        Assert.Equal(QueueNames.All.Count + 2, results.Count);
        Assert.All(results, result => Assert.Equal($"{result.Key} failed: unexpected OutOfMemoryException", result.Value.AssertFailed()));
    }

    [Fact]
    public async Task Files_next_to_a_breach_are_acknowledged_and_leave_no_record()
    {
        await using var host = await StartAsync();
        (await host.InvokeTimerAsync()).AssertDone(); // sets up the stores
        foreach (var blob in new[] { "Adobe.json", "2013/Adobe.2.PNG", "readme", "Adobe.7z", "somebody@example.com.json" })
        {
            await host.DropAsync(blob, "{}"u8.ToArray());
            (await host.InvokeBlobAsync(blob)).AssertDone();
        }
        using var account = StorageAccount.Open(host.Storage, NullLoggerFactory.Instance);
        var version = (await account.Blobs.FindAsync("Adobe.json", None))!.Version;
        Assert.False(await account.Register.HasReceiptAsync(version, None));
        Assert.Empty(await account.Register.ListOpenAsync(None));
        Assert.Empty((await host.HibpAsync("status", "--json")).Succeeded().Json.List("loads"));
        // A file whose name is a breach's is loaded.
        (await host.IngestAsync("2013/Adobe.2.csv", "a@example.com"u8.ToArray())).AssertDone();
        var load = Assert.Single((await host.HibpAsync("status", "--json")).Succeeded().Json.List("loads"));
        Assert.Equal(("Adobe", 1), (load.Text("breach"), load.Number("accounts")));
    }

    [Fact]
    public async Task Health_is_healthy_on_fresh_stores_and_unhealthy_on_unusable_ones_and_creates_nothing()
    {
        await using var host = await StartAsync(("HIBP_APP", "ingest")); // an obsolete setting does no harm
        Assert.Equal(Well, await Probe.AskUntilAsync(Well, host.HealthAsync));
        // Health is public: it neither sets up the stores nor wakes the database.
        Assert.False(File.Exists(host.DatabaseFile));
        using (var account = StorageAccount.Open(host.Storage, NullLoggerFactory.Instance))
            Assert.Contains(
                "TableNotFound",
                (await Assert.ThrowsAsync<StoreMissingException>(() => account.Register.GetIdentityAsync(None))).Message,
                StringComparison.Ordinal);

        await host.StopWorkerAsync();
        Assert.Contains("HIBP_APP is no longer used", host.Worker.Said, StringComparison.Ordinal);
        foreach (var storage in (string[])[ConnectionStrings.WithWrongKey(host.Storage), ConnectionStrings.Of("http://127.0.0.1:1")])
        {
            await host.StartWorkerAsync(("HIBP_STORAGE", storage));
            Assert.Equal(new HostAnswer(503, """{"status":"unhealthy"}"""), await host.HealthAsync());
        }
    }

    [Theory]
    [InlineData("HIBP_DATABASE", "", "HIBP_DATABASE")]
    [InlineData("HIBP_MAIL", "", "HIBP_MAIL")]
    [InlineData("HIBP_STORAGE", "", "HIBP_STORAGE")]
    [InlineData("HIBP_BATCHROWS", "many", "HIBP_BATCHROWS")]
    [InlineData("HIBP_SECRET_KEY", "short", "HIBP_SECRET_KEY")]
    [InlineData("HIBP_DATABASE", "Data Source=/x/h.db;Cache=Shared", "database")]
    [InlineData("HIBP_PURGE_URL", "nonsense", "HIBP_PURGE_URL")]
    [InlineData("APPLICATIONINSIGHTS_CONNECTION_STRING", "whatever", "APPLICATIONINSIGHTS_CONNECTION_STRING")]
    public async Task Invalid_settings_fail_every_invocation_without_ending_the_worker(string variable, string value, string named)
    {
        await using var host = await StartAsync((variable, value), ("BreachStorage", "")); // would be used in place of HIBP_STORAGE
        Assert.Contains(named, (await host.InvokeTimerAsync()).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains(named, (await host.InvokeBlobAsync("A.zip")).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains(
            named, (await host.InvokeMessageAsync("UpsertSlice", """{"version":1,"load":17,"slice":42}"""))
            .AssertFailed(), StringComparison.Ordinal);
        var health = await host.HealthAsync();
        Assert.Equal(503, health.Status);
        Assert.Contains(named, health.Body, StringComparison.Ordinal);
        await host.StopWorkerAsync();
        Assert.Contains(named, host.Worker.Said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Each_invalid_setting_is_reported_on_its_own_line()
    {
        await using var host = await StartAsync(("HIBP_BATCHROWS", "many"), ("HIBP_DATABASE", ""), ("HIBP_SLICELEASE", "5"));
        string[] named = ["HIBP_BATCHROWS", "HIBP_DATABASE", "HIBP_SLICELEASE"];
        var health = (await host.HealthAsync()).Body;
        Assert.All(named, name => Assert.Contains(name, health, StringComparison.Ordinal));
        // Health is public, and the invalid value may be a secret.
        Assert.DoesNotContain("many", health, StringComparison.Ordinal);
        await host.StopWorkerAsync();
        Assert.All(named, name => Assert.Contains(
            host.Worker.Said.Split('\n'), line => line.Contains($"app settings: {name}", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task Unavailable_database_costs_no_attempt_and_neither_health_nor_an_idle_sweep_needs_it()
    {
        await using var host = await StartAsync();
        (await host.InvokeTimerAsync()).AssertDone(); // sets up the stores
        await host.DropAsync("A.zip", [1, 2, 3]);
        await host.StartWorkerAsync(("HIBP_DATABASE", "/proc/self/mem")); // opens, but reading it is an I/O error

        Assert.Equal(Well, await host.HealthAsync());
        (await host.InvokeTimerAsync()).AssertDone();
        (await host.InvokeMessageAsync("MatchSubscribers", """{"version":1,"load":17}""")).AssertDone();
        (await host.InvokeBlobAsync("A.zip")).AssertDone();
        // Both are re-sent with a delay, and are hidden until then.
        foreach (var queue in new[] { "breach-match", "breach-ingest" })
        {
            Assert.Equal(1, (await host.Queue(queue).GetPropertiesAsync()).Value.ApproximateMessagesCount);
            Assert.Empty((await host.Queue(queue).PeekMessagesAsync(32)).Value);
        }

        using (var account = StorageAccount.Open(host.Storage, NullLoggerFactory.Instance))
            await account.Register.MarkOpenAsync(new(17), None);
        Assert.Contains("/proc/self/mem", (await host.InvokeTimerAsync()).AssertFailed(), StringComparison.Ordinal);
        await host.StartWorkerAsync(); // health is not cached across workers
        Assert.Equal(Well, await host.HealthAsync());
        Assert.Contains("/proc/self/mem", (await host.InvokeTimerAsync()).AssertFailed(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Store_that_denies_access_fails_invocations_without_ending_the_worker()
    {
        var storage = await AzuriteFixture.NewAccountAsync();
        await using var host = await FunctionsHost.StartAsync(
            new Dictionary<string, string> { ["HIBP_STORAGE"] = ConnectionStrings.WithWrongKey(storage) }, storage: storage);
        Assert.Contains("403", (await host.InvokeTimerAsync()).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains("403", (await host.InvokeBlobAsync("A.zip")).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains(
            "403", (await host.InvokeMessageAsync("UpsertSlice", """{"version":1,"load":17,"slice":42}"""))
            .AssertFailed(), StringComparison.Ordinal);
    }

    private static Task<FunctionsHost> StartAsync(params (string Name, string Value)[] settings) =>
        FunctionsHost.StartAsync(settings.ToDictionary(setting => setting.Name, setting => setting.Value));
}
