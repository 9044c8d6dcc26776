using HibpIngest.Hosting;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Sql.Sqlite;
using ICSharpCode.SharpZipLib.Zip;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests the pipeline from upload to mail, and its repetitions, on real stores.</summary>
public sealed class PipelineTests
{
    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (200, 100);

    [Fact]
    public async Task A_dropped_zip_becomes_searchable_accounts_and_sent_mails()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(
            ("user1@d1.example.org", null), ("user3@example.com", null), ("nobody@example.com", null),
            ("owner@example.net", "example.com"));
        await rig.DropAsync(
            "Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 450)), ("b.txt", PipelineRig.Accounts(400, 150))),
            """{"Title":"Adobe Systems","IsVerified":true}""");

        await rig.RunToEndAsync();

        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal((LoadState.Done, 550L, 3, 6, 3), (load.State, load.Accounts, load.Batches, load.Slices.Done, load.Notifications.Sent));
        Assert.Equal(50, load.Checkpoint.Rejected.Duplicates);
        var table = await rig.TableAsync();
        Assert.Equal(PipelineRig.Expected(0, 550).Order(), table.Keys.Order());
        Assert.All(table.Values, breaches => Assert.Equal(["b1"], breaches));
        Assert.Equal(["owner@example.net", "user1@d1.example.org", "user3@example.com"], rig.Recipients());
        Assert.Contains(rig.Mails(), mail => mail.Text.Contains("Adobe Systems", StringComparison.Ordinal));
        Assert.Equal("Adobe", Assert.Single(await rig.FindAsync(" User3@Example.com ")).Name);
        Assert.Empty(await rig.FindAsync("nobody@example.com"));
        Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));
    }

    [Fact]
    public async Task Dropping_again_renaming_and_requeueing_change_nothing()
    {
        await using var rig = await PipelineRig.StartAsync(options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (40, 20));
        await rig.ImportAsync(("user1@d1.example.org", null), ("owner@example.net", "example.com"));
        var zip = PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 100)));
        await rig.DropAsync("Adobe.zip", zip);
        await rig.RunToEndAsync();
        var table = await rig.TableAsync();
        var mails = rig.Mails();

        await rig.DropAsync("Adobe.zip", zip);
        await rig.RunToEndAsync();
        await rig.DropAsync("old/adobe.2.zip", zip);
        await rig.RunToEndAsync();
        Assert.Equal(
            15, await rig.Context.Get<RequeueSlices>().RunAsync("Adobe", null, failedOnly: false, CancellationToken.None));
        await rig.RunToEndAsync();

        var loads = await rig.LoadsAsync();
        Assert.Equal(3, loads.Count);
        Assert.All(loads, load => Assert.Equal((LoadState.Done, 100L, "Adobe"), (load.State, load.Accounts, load.Breach)));
        Assert.Equal([1, 2, 3], loads.Select(load => load.Mark));
        Assert.Equal(table.Keys.Order(), (await rig.TableAsync()).Keys.Order());
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b1", "b2", "b3"], marks));
        // The second upload replaced the first; the renamed zip is a load of its own.
        Assert.Equal([2, 3], (await rig.Context.Database.GetBreachAsync("Adobe", CancellationToken.None))!.Marks);
        Assert.Equal(mails, rig.Mails());
    }

    [Fact]
    public async Task Two_breaches_mark_exactly_their_accounts()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        const int Each = 110;
        await rig.DropAsync("First.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, Each))));
        await rig.RunToEndAsync();
        await rig.DropAsync("Second.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(90, Each))));
        await rig.RunToEndAsync();

        var table = await rig.TableAsync();
        Assert.Equal(PipelineRig.Expected(0, 90 + Each).Order(), table.Keys.Order());
        Assert.Equal(PipelineRig.Expected(0, Each).Order(), table.Where(one => one.Value.Contains("b1")).Select(one => one.Key).Order());
        Assert.Equal(PipelineRig.Expected(90, Each).Order(), table.Where(one => one.Value.Contains("b2")).Select(one => one.Key).Order());

        Assert.Equal(Each, (await rig.Context.Get<RemoveBreach>().RunAsync("first", null, CancellationToken.None)).Entities);
        table = await rig.TableAsync();
        Assert.Equal(PipelineRig.Expected(90, Each).Order(), table.Keys.Order());
        Assert.All(table.Values, breaches => Assert.Equal(["b2"], breaches));
        await rig.DropAsync("Third.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 1))));
        await rig.RunToEndAsync();
        Assert.Equal(["b3"], (await rig.TableAsync())["user0@example.com"]);
    }

    [Theory]
    [InlineData("", true, true)]
    [InlineData("IsSensitive", false, true)]
    [InlineData("IsRetired", false, false)]
    [InlineData("IsFabricated", true, true)]
    [InlineData("IsMalware", true, true)]
    [InlineData("IsStealerLog", true, true)]
    [InlineData("IsSpamList", true, true)]
    [InlineData("IsSubscriptionFree", true, true)]
    public async Task A_flag_decides_lookup_and_mail(string flag, bool found, bool mailed)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.DropAsync(
            "X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), flag.Length > 0 ? $$"""{"{{flag}}":true}""" : "{}");
        await rig.RunToEndAsync();

        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Equal(found, (await rig.FindAsync("user0@example.com")).Count == 1);
        Assert.Equal(mailed ? 1 : 0, rig.Mails().Count);
        Assert.Equal(10, (await rig.TableAsync()).Count);
    }

    [Fact]
    public async Task Hidden_breach_is_not_found_until_it_is_shown()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        await rig.RunToEndAsync();

        await rig.Context.Get<BreachOperations>().SetHiddenAsync("x", hidden: true, CancellationToken.None);
        Assert.Empty(await rig.FindAsync("user0@example.com"));
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("x", hidden: false, CancellationToken.None);
        Assert.Single(await rig.FindAsync("user0@example.com"));
    }

    [Fact]
    public async Task Held_load_is_matched_and_sends_its_mails_only_when_released()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null), ("owner@example.net", "example.com"));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), """{"notify":"hold"}""");
        await rig.RunToEndAsync();

        var held = await rig.LoadAsync(1);
        Assert.Equal((LoadState.Held, 2), (held.State, held.Notifications.Open));
        Assert.Empty(rig.Mails());
        Assert.Single(await rig.FindAsync("user0@example.com"));
        var operations = rig.Context.Get<MailOperations>();
        var preview = new List<Notification>();
        await foreach (var notification in operations.PreviewAsync("X", CancellationToken.None))
            preview.Add(notification);
        Assert.Equal(
            [("owner@example.net", (string?)"example.com", 4L), ("user0@example.com", null, 1L)],
            preview.Select(one => (one.Email, one.Domain, one.Accounts)).Order());

        Assert.Equal(2, await operations.NotifyAsync("x", CancellationToken.None));
        await rig.RunToEndAsync();
        Assert.Equal(["owner@example.net", "user0@example.com"], rig.Recipients());
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        await Assert.ThrowsAsync<NotPossibleException>(() => operations.NotifyAsync("x", CancellationToken.None));
    }

    [Fact]
    public async Task Metadata_is_optional_and_resume_reads_its_corrected_version()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.DropAsync("Late.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        // After ingest and upsert, matching reads the metadata, which doesn't exist.
        await PipelineRig.PumpOnceAsync(rig.Context, rig.Context.Get<MessageDispatcher>());
        await rig.RunToEndAsync();
        Assert.Equal("Late", (await rig.Context.Database.GetBreachAsync("late", CancellationToken.None))!.Name);

        await rig.DropAsync("Bad.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), "{ \"Title\": ");
        await rig.RunToEndAsync();
        var failed = (await rig.LoadsAsync()).Single(load => load.Breach == "Bad");
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Contains("not JSON", failed.Error, StringComparison.Ordinal);

        await rig.Context.Blobs.WriteSmallAsync("Bad.json", """{"Title":"Mended"}"""u8.ToArray(), CancellationToken.None);
        await rig.Context.Get<ResumeLoad>().RunAsync(failed.Id, restart: false, null, CancellationToken.None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(failed.Id.Value)).State);
        Assert.Equal("Mended", (await rig.Context.Database.GetBreachAsync("Bad", CancellationToken.None))!.Metadata.Title);
    }

    [Fact]
    public async Task Second_loads_metadata_changes_only_the_properties_it_contains()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync(
            "Adobe.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), """{"Title":"Adobe Systems","IsSensitive":true}""");
        await rig.RunToEndAsync();
        await rig.DropAsync("Adobe.2.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(5, 10))), """{"Notify":"hold","IsVerified":true}""");
        await rig.RunToEndAsync();

        var metadata = (await rig.Context.Database.GetBreachAsync("Adobe", CancellationToken.None))!.Metadata;
        Assert.Equal(
            ("Adobe Systems", BreachFlags.Sensitive | BreachFlags.Verified, NotifyMode.Hold),
            (metadata.Title, metadata.Flags, metadata.Notify));
        Assert.Empty(await rig.FindAsync("user6@example.com"));
    }

    [Theory]
    [InlineData("empty.zip", "no account in it")]
    [InlineData("text.zip", "zip")]
    public async Task Bad_input_fails_the_load_with_its_reason_and_publishes_nothing(string blob, string reason)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync(
            blob, blob == "empty.zip" ? PipelineRig.Zip(("a", "nothing here, not even a@b")) : "user@example.com"u8.ToArray());
        await rig.RunToEndAsync();

        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal((LoadState.Failed, 0), (load.State, load.Mark));
        Assert.Contains(reason, load.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', load.Error!);
        Assert.DoesNotContain(await rig.Context.Database.ListBreachesAsync(CancellationToken.None), breach => breach.IsPublic);
        Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));
    }

    [Fact]
    public async Task Damaged_archive_keeps_its_committed_batches_and_fails()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var zip = PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 1_000)), ("b.csv", PipelineRig.Accounts(1_000, 1_000)));
        var damaged = zip.ToArray();
        // The last bytes of the second entry's data are right before the central directory.
        var directory = damaged.AsSpan().IndexOf("PK\u0001\u0002"u8);
        damaged.AsSpan(directory - 40, 30).Clear();
        await rig.DropAsync("X.zip", damaged);
        await rig.RunToEndAsync();

        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Failed, load.State);
        Assert.Contains("b.csv", load.Error, StringComparison.Ordinal);
        Assert.InRange(load.LastPosition, 1_000, 1_999);
        Assert.Equal(0, load.LastPosition % 200);
        Assert.Equal(load.LastPosition, (await rig.TableAsync()).Count);
        Assert.Empty(await rig.FindAsync("user0@example.com"));

        await rig.DropAsync("X.zip", zip);
        await rig.RunToEndAsync();
        Assert.Equal(2_000, (await rig.TableAsync()).Count);
        Assert.Equal([LoadState.Failed, LoadState.Done], (await rig.LoadsAsync()).Select(one => one.State));
    }

    [Fact]
    public async Task Ingest_continued_under_a_time_budget_copies_the_same_rows()
    {
        await using var whole = await PipelineRig.StartAsync(Small);
        await using var budgeted = await PipelineRig.StartAsync(options =>
        {
            Small(options);
            options.Ingest.TimeBudget = TimeSpan.FromTicks(1); // exceeded by the first commit, each time
        });
        var zip = PipelineRig.Zip(
            ("a.csv", PipelineRig.Accounts(0, 700)), ("b.csv", PipelineRig.Accounts(300, 900)), ("c.csv", PipelineRig.Accounts(0, 5)));
        await whole.DropAsync("X.zip", zip);
        await budgeted.DropAsync("X.zip", zip);
        await whole.RunToEndAsync();
        await budgeted.RunToEndAsync();

        Assert.Equal(await RowsAsync(whole), await RowsAsync(budgeted));
        var (one, many) = (await whole.LoadAsync(1), await budgeted.LoadAsync(1));
        Assert.Equal((LoadState.Done, 1_200L, 6), (many.State, many.Accounts, many.Batches));
        Assert.Equal(one.Checkpoint.Rejected.Duplicates, many.Checkpoint.Rejected.Duplicates);
        Assert.Equal(one.Checkpoint.Rejected.ByRule, many.Checkpoint.Rejected.ByRule);
        Assert.Equal(await whole.TableAsync(), await budgeted.TableAsync());
    }

    [Fact]
    public async Task Load_beyond_the_dedupe_cap_keeps_stable_positions_and_an_exact_count()
    {
        static void Capped(TestOptions options) => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Ingest.DedupeCap)
            = (100, 50, 150);
        await using var whole = await PipelineRig.StartAsync(Capped);
        await using var budgeted = await PipelineRig.StartAsync(options =>
        {
            Capped(options);
            options.Ingest.TimeBudget = TimeSpan.FromTicks(1);
        });
        await whole.ImportAsync(("owner@example.net", "example.com"));
        var zip = PipelineRig.Zip(
            ("a.csv", PipelineRig.Accounts(0, 300)), ("b.csv", PipelineRig.Accounts(200, 300)), ("c.csv", PipelineRig.Accounts(0, 300)));
        await whole.DropAsync("X.zip", zip);
        await budgeted.DropAsync("X.zip", zip);
        await whole.RunToEndAsync();
        await budgeted.RunToEndAsync();

        Assert.Equal(await RowsAsync(whole), await RowsAsync(budgeted));
        var load = await whole.LoadAsync(1);
        Assert.True(load.LastPosition > 500, "duplicates were expected to pass");
        Assert.Equal((LoadState.Done, 500L, true), (load.State, load.Accounts, load.DuplicatesPossible));
        Assert.True((await budgeted.LoadAsync(1)).DuplicatesPossible);
        Assert.Equal(500, (await whole.TableAsync()).Count);
        Assert.Single(whole.Mails());
    }

    [Theory]
    [InlineData(300, false)]
    [InlineData(299, true)]
    public async Task Duplicates_are_possible_only_if_an_account_was_not_remembered(int cap, bool isPossible)
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Ingest.DedupeCap = cap);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 300)), ("b.csv", PipelineRig.Accounts(0, 300))));
        await rig.RunToEndAsync();

        var load = await rig.LoadAsync(1);
        Assert.Equal((LoadState.Done, 300L, isPossible), (load.State, load.Accounts, load.DuplicatesPossible));
    }

    [Fact]
    public async Task Resume_opens_an_encrypted_archive_only_with_the_right_password()
    {
        var key = Convert.ToBase64String(Enumerable.Range(0, 32).Select(i => (byte)i).ToArray());
        await using var rig = await PipelineRig.StartAsync(Small, secretKey: key);
        var bytes = new MemoryStream();
        using (var zip = new ZipOutputStream(bytes) { IsStreamOwner = false, Password = "correct horse" })
        {
            zip.PutNextEntry(new ZipEntry("a.csv") { AESKeySize = 256 });
            zip.Write(Encoding.UTF8.GetBytes(PipelineRig.Accounts(0, 300)));
            zip.CloseEntry();
        }
        await rig.DropAsync("Locked.zip", bytes.ToArray());
        await rig.RunToEndAsync();
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Failed, load.State);
        Assert.Contains("--password", load.Error, StringComparison.Ordinal);

        var resume = rig.Context.Get<ResumeLoad>();
        await resume.RunAsync(load.Id, restart: false, "wrong", CancellationToken.None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Failed, (await rig.LoadAsync(load.Id.Value)).State);

        await resume.RunAsync(load.Id, restart: false, "correct horse", CancellationToken.None);
        Assert.NotNull(await rig.Context.Database.GetPasswordAsync(load.Blob, CancellationToken.None));
        await RigWithKeyAsync(rig, key); // another process, with the key
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(load.Id.Value)).State);
        Assert.Equal(300, (await rig.TableAsync()).Count);
        Assert.Null(await rig.Context.Database.GetPasswordAsync(load.Blob, CancellationToken.None));

        static Task RigWithKeyAsync(PipelineRig rig, string key) => PipelineRig.RunToEndAsync(rig.OpenContext(key));
    }

    [Fact]
    public async Task Setup_refuses_a_database_that_belongs_to_another_table()
    {
        await using var one = await PipelineRig.StartAsync(Small);
        await using var two = await PipelineRig.StartAsync(Small);
        var mixed = two.Context with { Register = one.Context.Register, Tables = one.Context.Tables };
        var error = await Assert.ThrowsAsync<StoreMismatchException>(() => mixed.Get<StoreSetup>().EnsureAsync(CancellationToken.None));
        Assert.Contains("do not belong together", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Setup_refuses_a_fresh_database_or_table_paired_with_a_used_one()
    {
        await using var used = await PipelineRig.StartAsync(Small);
        await used.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        await used.RunToEndAsync();

        var file = Path.Combine(Directory.CreateTempSubdirectory("hibp-test-").FullName, "fresh.db");
        await using var fresh = SqliteBreachDatabase.Open(file, TimeProvider.System);
        await Assert.ThrowsAsync<StoreMismatchException>(
            () => (used.Context with { Database = fresh }).Get<StoreSetup>().EnsureAsync(CancellationToken.None));

        var account = StorageAccount.Open(await AzuriteFixture.NewAccountAsync(), NullLoggerFactory.Instance);
        await Assert.ThrowsAsync<StoreMismatchException>(() => (used.Context with
        {
            Register = account.Register,
            Tables = account.Tables,
            StoreAccounts = account.StoreAccounts,
            Blobs = account.Blobs,
            Queues = account.Queues,
        }).Get<StoreSetup>().EnsureAsync(CancellationToken.None));
        Directory.Delete(Path.GetDirectoryName(file)!, recursive: true);
    }

    [Fact]
    public async Task Check_during_a_concurrent_setup_reports_no_mismatch()
    {
        var calls = 0;
        for (var setUpBefore = 1; calls >= setUpBefore - 1; setUpBefore++)
        {
            await using var rig = await PipelineRig.NewAsync(Small);
            calls = 0;
            var watched = rig.Context with
            {
                Database = PortProxy<IBreachDatabase>.Create(rig.Context.Database, _ => BeforeAsync()),
                Register = PortProxy<IStoreRegister>.Create(rig.Context.Register, _ => BeforeAsync()),
            };
            Assert.Equal(setUpBefore == 1, await watched.Get<StoreSetup>().CheckAsync(CancellationToken.None));
            Assert.True(calls < setUpBefore || await watched.Get<StoreSetup>().CheckAsync(CancellationToken.None));

            Task BeforeAsync() => ++calls == setUpBefore
                ? rig.OpenContext().Get<StoreSetup>().EnsureAsync(CancellationToken.None) : Task.CompletedTask;
        }
        Assert.InRange(calls, 2, 10);
    }

    private static async Task<List<string>> RowsAsync(PipelineRig rig)
    {
        var rows = new AccountBatch(100_000);
        await rig.Context.Database.ReadRowsAsync(new(1), 1, 100_000, rows, CancellationToken.None);
        return [.. Enumerable.Range(0, rows.Count).Select(
            i => Encoding.ASCII.GetString(rows.Alias(i)) + "@" + Encoding.ASCII.GetString(rows.Domain(i)))];
    }
}
