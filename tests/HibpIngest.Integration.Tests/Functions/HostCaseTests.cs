using Azure.Data.Tables;
using Azure.Storage.Queues;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Integration.Tests.Telemetry;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests the pipeline's Functions app as its host drives it: events, queues and a timer, with crashes.</summary>
public sealed class HostCaseTests
{
    private const string Person = "jane.private@example.com";

    public static TheoryData<string> Drivers => [.. DrivenApp.Drivers];

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Dropped_breach_is_loaded_and_mailed_once(string driver)
    {
        const int Accounts = 50_000;
        await using var smtp = new SmtpTestServer();
        await using var app = await DrivenApp.StartAsync(driver, ("HIBP_MAIL", smtp.Setting));
        var folder = Path.GetDirectoryName(app.DatabaseFile)!;
        var subscribers = Enumerable.Range(0, 20).Select(i => $"user{i * 2_000}@example.com").Append("nobody@example.org").ToList();
        var file = Path.Combine(folder, "subscribers.csv");
        await File.WriteAllLinesAsync(file, ["email,domain", .. subscribers.Select(one => $"{one},")]);
        (await app.HibpAsync("subscribers", "import", file)).Succeeded();

        await app.DropAsync("Big.zip", PipelineRig.Zip(("a.csv", Lines(0, Accounts))));
        await app.PostEventAsync("Big.zip");
        await DoneAsync(app, 1);
        var expected = Enumerable.Range(0, Accounts).Select(i => $"user{i}@example.com").ToHashSet();
        var table = await RawTable.ReadAccountsAsync(app.Storage, "accounts", expected);
        Assert.True(expected.SetEquals(table.Keys));
        Assert.All(table.Values, marks => Assert.Equal(["b1"], marks));
        Assert.Equal(subscribers.Take(20).Order(StringComparer.Ordinal), smtp.Mails.Select(mail => mail.To).Order(StringComparer.Ordinal));

        // A requeued slice writes its accounts again; a blob of another name is another load, whose mails have already been sent.
        await new TableClient(app.Storage, "accounts").DeleteEntityAsync("example.com", $"user{Accounts - 1}");
        (await app.HibpAsync("requeue", "Big", "--slice", $"{Accounts / LoadSettings.DefaultSliceRows}")).Succeeded();
        await app.DropAsync("Big.2.zip", PipelineRig.Zip(("a.csv", Lines(0, 10))));
        await DoneAsync(app, 2);
        await DoneAsync(app, 1);
        Assert.True(expected.SetEquals((await RawTable.ReadAccountsAsync(app.Storage, "accounts", expected)).Keys));
        Assert.Equal(20, smtp.Mails.Count);
        await using var database = SqliteBreachDatabase.Open(app.DatabaseFile, TimeProvider.System);
        Assert.Null(await database.GetLoadAsync(new(3), CancellationToken.None));

        // An app moved to another folder fires nothing again and leaves no event unread, because it keeps its host id.
        await app.StopAsync();
        await app.StartNextElsewhereAsync();
        await app.DropAsync("Big.3.zip", PipelineRig.Zip(("a.csv", Lines(0, 10))));
        await DoneAsync(app, 3);
        Assert.Null(await database.GetLoadAsync(new(4), CancellationToken.None));
        Assert.Single(await EventQueuesAsync(app));
        Assert.Equal(20, smtp.Mails.Count);
        Assert.DoesNotContain("@example", app.Said, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Killed_host_loses_and_duplicates_nothing(string driver)
    {
        const int Accounts = 5_000;
        await using var app = await StartQuickAsync(driver);
        await app.DropAsync("Big.zip", PipelineRig.Zip(("a.csv", Lines(0, Accounts))));
        await UntilAsync(app, load => load.LastPosition is > 500 and < Accounts);
        await app.CrashHostAsync();
        await DoneAsync(app, 1);
        await AssertAccountsAsync(app, Accounts);
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Killed_worker_loses_and_duplicates_nothing(string driver)
    {
        const int Accounts = 5_000;
        await using var app = await StartQuickAsync(driver, ("HIBP_RANGES", "on"));
        await app.DropAsync("Big.zip", PipelineRig.Zip(("a.csv", Lines(0, Accounts))));
        // During the copy.
        await UntilAsync(app, load => load.LastPosition is > 500 and < Accounts);
        await app.CrashWorkerAsync();
        // During the upserts: everything is copied or will be, and some slices are done.
        await UntilAsync(app, load => load.Slices.Done is > 5 and < 180);
        await app.CrashWorkerAsync();
        await DoneAsync(app, 1);
        await AssertAccountsAsync(app, Accounts);
        var accounts = await RawTable.ReadAccountsAsync(app.Storage, "accounts");
        Assert.Equal(RawTable.RangesOf(accounts), await RawTable.ReadRangesAsync(app.Storage, "ranges"));
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Stopped_instance_releases_its_load_at_a_batch_and_the_next_one_resumes(string driver)
    {
        const int Accounts = 12_000;
        const int BatchRows = 500;
        const int LineBytes = 60;
        var storage = await AzuriteFixture.NewAccountAsync();
        // Text is scanned half a megabyte at a time. Without the rest, the copy can't end before a host cancels it, 10 s after SIGTERM.
        await using var blob = await WithheldBlob.StartAsync(storage, "Big.txt", from: 512 * 1024);
        await using var app = await DrivenApp.StartAsync(
            driver, storage, ("HIBP_STORAGE", blob.Storage), ("HIBP_BATCHROWS", $"{BatchRows}"), ("HIBP_SLICEROWS", $"{BatchRows}"));
        await app.DropAsync("Big.txt", Encoding.ASCII.GetBytes(string.Concat(
            Enumerable.Range(0, Accounts).Select(i => $"user{i}@example.com;".PadRight(LineBytes - 1, 'x') + "\n"))));
        await UntilAsync(app, load => load.LastPosition > 0);
        await app.StopAsync();
        var stopped = (await LoadAsync(app, 1))!;
        Assert.Equal((LoadState.Ingesting, null, null), (stopped.State, stopped.LeaseExpiresAt, stopped.LeaseRanOutAt));
        Assert.InRange(stopped.LastPosition, BatchRows, Accounts - BatchRows);
        Assert.Equal(0, stopped.LastPosition % BatchRows);

        blob.Release();
        await app.StartNextAsync();
        await DoneAsync(app, 1);
        Assert.Equal(Accounts / BatchRows, (await LoadAsync(app, 1))!.Batches);
        await AssertAccountsAsync(app, Accounts);
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Ingest_over_its_time_budget_is_continued_by_messages(string driver)
    {
        const int Accounts = 5_000;
        await using var app = await StartQuickAsync(driver, ("HIBP_TIMEBUDGET", "00:00:00.2"));
        await app.DropAsync("Big.zip", PipelineRig.Zip(("a.csv", Lines(0, Accounts))));
        await DoneAsync(app, 1);
        Assert.Contains("ingest time budget used up", app.Said, StringComparison.Ordinal);
        await AssertAccountsAsync(app, Accounts);
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Exhausted_memory_poisons_messages_of_every_stage_and_ends_no_process(string driver)
    {
        await using var app = await DrivenApp.StartAsync(driver);
        await app.DropAsync("Small.zip", PipelineRig.Zip(("a.csv", Lines(0, 10))));
        await DoneAsync(app, 1);
        await app.StopAsync();
        await app.StartNextWithoutMemoryAsync();
        var worker = await app.FindWorkerAsync();
        foreach (var (queue, message) in StageMessages.Each)
            await app.Queue(queue).SendMessageAsync(Convert.ToBase64String(Encoding.ASCII.GetBytes(message)));
        // The load's own messages may be in these queues too.
        foreach (var queue in QueueNames.All)
            await Eventually.IsSoAsync(async () => await CountAsync(app, queue + QueueNames.PoisonSuffix) > 0);
        Assert.Equal(worker, await app.FindWorkerAsync());
        Assert.Contains("UpsertSlice failed: unexpected OutOfMemoryException", app.Said, StringComparison.Ordinal);
        Assert.DoesNotContain(StartupHook.Person, app.Said, StringComparison.Ordinal);

        await app.StopAsync();
        await app.StartNextAsync();
        (await app.HibpAsync("poison", "requeue", QueueNames.Slices)).Succeeded();
        await Eventually.IsSoAsync(async () => await CountAsync(app, QueueNames.Slices) == 0);
        Assert.Equal(0, await CountAsync(app, QueueNames.Slices + QueueNames.PoisonSuffix));
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Permanent_failure_is_reported_and_a_blob_without_an_event_is_loaded(string driver)
    {
        await using var telemetry = await TelemetryEndpoint.StartAsync();
        await using var app = await DrivenApp.StartAsync(
            driver, ("HIBP_SWEEPBLOBAGE", "00:00:00"), (TelemetryExport.ApplicationInsightsVariable, telemetry.ConnectionString));
        // The first sweep sets up the stores.
        await Eventually.IsSoAsync(async () => await app.Queue("breach-slices").ExistsAsync());
        await app.Queue("breach-slices").SendMessageAsync(Convert.ToBase64String(Encoding.ASCII.GetBytes(Person)));
        await Eventually.IsSoAsync(async () => await CountAsync(app, "breach-slices-poison") == 1);
        (await app.HibpAsync("poison", "requeue", "breach-slices")).Succeeded();
        await Eventually.IsSoAsync(
            async () => await CountAsync(app, "breach-slices") == 0 && await CountAsync(app, "breach-slices-poison") == 1);

        await app.DropAsync("Bad.zip", [.. "PK"u8, 3, 4, 0, 0, 0, .. Encoding.ASCII.GetBytes(Person)]);
        await Eventually.IsSoAsync(async () => (await LoadAsync(app, 1))?.State == LoadState.Failed);
        var failed = (await app.HibpAsync("status", "Bad", "--json")).Succeeded().Json.List("loads")[0];
        Assert.Contains("zip", failed.Text("error"), StringComparison.OrdinalIgnoreCase);

        await RowsFault.FailFirstAttemptsAsync(app.DatabaseFile, Person);
        await app.Container.UploadBlobAsync("Quiet.zip", new BinaryData(PipelineRig.Zip(("a.csv", Lines(0, 100)))));
        await DoneAsync(app, 2);
        await AssertSentWithoutPeopleAsync(telemetry);
        // Five attempts, and five after the message was requeued; later lines have been received.
        Assert.Equal(10, telemetry.Items.Count(item => IsFailure(item, "not the JSON of")));
        Assert.DoesNotContain("@example", app.Said, StringComparison.Ordinal);
        Assert.DoesNotContain("jane.private", app.Said, StringComparison.Ordinal);
    }

    /// <summary>Asserts that Application Insights gets failed invocations, for known and unexpected errors, without an account.</summary>
    private static async Task AssertSentWithoutPeopleAsync(TelemetryEndpoint telemetry)
    {
        await Eventually.IsSoAsync(() => Task.FromResult(
            IsSent(item => item is { IsSpan: true, Name: Spans.Slice, Success: false })
            && IsSent(item => item is { IsSpan: true, Name: Spans.Slice, Success: true })
            && IsFailureSent("not the JSON of") && IsFailureSent("System.InvalidOperationException")));
        string[] people =
        [
            "@example", "jane.private", "user1", .. ((string[])[Person, "user1@example.com"]).Select(
                address => Convert.ToHexStringLower(SHA1.HashData(Encoding.ASCII.GetBytes(address)))),
        ];
        Assert.Empty(AddressSearch.Find(telemetry.Got.Select(one => one.Body), people));

        bool IsSent(Predicate<TelemetryItem> matches) => telemetry.Items.Any(item => matches(item));

        bool IsFailureSent(string reason) => IsSent(item => IsFailure(item, reason));
    }

    private static bool IsFailure(TelemetryItem item, string reason) => item[Logs.EventId] == $"{EventIds.InvocationFailed}"
        && item.Message.Contains(reason, StringComparison.Ordinal);

    /// <summary>Lists the host's own queues of blob events. A changed host id adds one, and leaves the first one unread.</summary>
    private static async Task<List<string>> EventQueuesAsync(DrivenApp app) =>
        await new QueueServiceClient(app.Storage).GetQueuesAsync(prefix: "azure-webjobs-blobtrigger-")
            .Select(queue => queue.Name).ToListAsync();

    /// <summary>Starts an app with many small batches and slices, whose lost work Sweep re-sends within seconds.</summary>
    private static Task<DrivenApp> StartQuickAsync(string driver, params (string Name, string Value)[] more) => DrivenApp.StartAsync(
        driver,
        [
            ("HIBP_BATCHROWS", "25"), ("HIBP_SLICEROWS", "25"), ("HIBP_LOADLEASE", "00:00:03"), ("HIBP_SLICELEASE", "00:00:03"),
            ("HIBP_SWEEPSTALEAGE", "00:00:05"), ("HIBP_SWEEPPENDINGAGE", "00:00:05"), .. more,
        ]);

    /// <summary>Asserts that the table has exactly these accounts, and that no log has any.</summary>
    private static async Task AssertAccountsAsync(DrivenApp app, int accounts)
    {
        Assert.Equal(
            Enumerable.Range(0, accounts).Select(i => $"user{i}@example.com").Order(StringComparer.Ordinal),
            (await RawTable.ReadAccountsAsync(app.Storage, "accounts")).Keys.Order(StringComparer.Ordinal));
        Assert.DoesNotContain("@example", app.Said, StringComparison.Ordinal);
    }

    private static string Lines(int from, int to) =>
        string.Concat(Enumerable.Range(from, to - from).Select(i => $"{i};User{i}@example.com;x\n"));

    private static async Task<int> CountAsync(DrivenApp app, string queue) => !await app.Queue(queue).ExistsAsync() ? 0
        : (await app.Queue(queue).GetPropertiesAsync()).Value.ApproximateMessagesCount;

    private static Task DoneAsync(DrivenApp app, long load) => UntilAsync(app, one => one.State == LoadState.Done, load);

    private static async Task UntilAsync(DrivenApp app, Func<Load, bool> isMet, long load = 1)
    {
        Load? found = null;
        try
        {
            await Eventually.IsSoAsync(async () => (found = await LoadAsync(app, load)) is { } seen
                && (isMet(seen) || (seen.State is LoadState.Failed or LoadState.Done
                    ? throw new InvalidOperationException($"ended without it: {seen.State}; {app.Said}") : false)));
        }
        catch (TimeoutException e)
        {
            throw new TimeoutException($"the load stayed {found}; output: {app.Said}", e);
        }
    }

    private static async Task<Load?> LoadAsync(DrivenApp app, long load)
    {
        if (!File.Exists(app.DatabaseFile))
            return null;
        await using var database = SqliteBreachDatabase.Open(app.DatabaseFile, TimeProvider.System);
        return (await database.GetSchemaVersionAsync(CancellationToken.None)).Found == 0
            ? null : await database.GetLoadAsync(new(load), CancellationToken.None);
    }
}
