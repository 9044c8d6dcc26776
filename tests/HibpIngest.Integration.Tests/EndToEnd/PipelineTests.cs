using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Setup;
using ICSharpCode.SharpZipLib.Zip;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests the pipeline from upload to mail, its repetitions and its set-up, on real stores.</summary>
public sealed class PipelineTests
{
    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (200, 100);

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
        Assert.Equal(15, await rig.Context.Get<RequeueSlices>().RunAsync("Adobe", null, failedOnly: false, None));
        await rig.RunToEndAsync();

        var loads = await rig.LoadsAsync();
        Assert.Equal(3, loads.Count);
        Assert.All(loads, load => Assert.Equal((LoadState.Done, 100L, "Adobe"), (load.State, load.Accounts, load.Breach)));
        Assert.Equal([1, 2, 3], loads.Select(load => load.Mark));
        Assert.Equal(table.Keys.Order(), (await rig.TableAsync()).Keys.Order());
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b1", "b2", "b3"], marks));
        // The second upload replaced the first; the renamed zip is a load of its own.
        Assert.Equal([2, 3], (await rig.Context.Database.GetBreachAsync("Adobe", None))!.Marks);
        Assert.Equal(mails, rig.Mails());
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
        await rig.LoadAccountsAsync("X.zip", 0, 10, flag.Length > 0 ? $$"""{"{{flag}}":true}""" : "{}");

        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Equal(found, (await rig.FindAsync("user0@example.com")).Count == 1);
        Assert.Equal(mailed ? 1 : 0, rig.Mails().Count);
        Assert.Equal(10, (await rig.TableAsync()).Count);
    }

    [Fact]
    public async Task Resume_reads_the_corrected_metadata()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.LoadAccountsAsync("Bad.zip", 0, 10, "{ \"Title\": ");
        var failed = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Contains("not JSON", failed.Error, StringComparison.Ordinal);

        await rig.Context.Blobs.WriteSmallAsync("Bad.json", """{"Title":"Repaired"}"""u8.ToArray(), None);
        await rig.Context.Get<ResumeLoad>().RunAsync(failed.Id, restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(failed.Id.Value)).State);
        Assert.Equal("Repaired", (await rig.Context.Database.GetBreachAsync("Bad", None))!.Metadata.Title);
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

    [Theory]
    [InlineData(500)] // just enough to remember every account
    [InlineData(499)]
    [InlineData(150)]
    public async Task Ingest_continued_under_a_time_budget_copies_the_same_rows_and_counts_exactly(int cap)
    {
        Action<TestOptions> capped = options =>
            (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Ingest.DedupeCap) = (100, 50, cap);
        await using var whole = await PipelineRig.StartAsync(capped);
        await using var budgeted = await PipelineRig.StartAsync(
            capped + (options => options.Ingest.TimeBudget = TimeSpan.FromTicks(1))); // exceeded by the first commit, each time
        await whole.ImportAsync(("owner@example.net", "example.com"));
        // Not remembered with a cap of 499, user499 passes twice more, into one slice.
        var zip = PipelineRig.Zip(
            ("a.csv", PipelineRig.Accounts(0, 300)), ("b.csv", PipelineRig.Accounts(200, 300)),
            ("c.csv", PipelineRig.Accounts(100, 400) + PipelineRig.Accounts(499, 1)));
        foreach (var rig in (PipelineRig[])[whole, budgeted])
        {
            await rig.DropAsync("X.zip", zip);
            await rig.RunToEndAsync();
        }

        Assert.Equal(await whole.RowsAsync(new(1)), await budgeted.RowsAsync(new(1)));
        var (one, many) = (await whole.LoadAsync(1), await budgeted.LoadAsync(1));
        Assert.Equal(cap < 500, one.LastPosition > 500);
        foreach (var load in (Load[])[one, many])
            Assert.Equal((LoadState.Done, 500L, cap < 500), (load.State, load.Accounts, load.DuplicatesPossible));
        Assert.Equal(one.Batches, many.Batches);
        Assert.Equal(one.Checkpoint.Rejected.Duplicates, many.Checkpoint.Rejected.Duplicates);
        Assert.Equal(one.Checkpoint.Rejected.ByRule, many.Checkpoint.Rejected.ByRule);
        Assert.Equal(PipelineRig.Expected(0, 500).Order(), (await whole.TableAsync()).Keys.Order());
        Assert.Equal(await whole.TableAsync(), await budgeted.TableAsync());
        Assert.Single(whole.Mails());
    }

    [Fact]
    public async Task Resume_opens_an_encrypted_archive_only_with_the_right_password()
    {
        var key = Convert.ToBase64String(Enumerable.Range(0, 32).Select(i => (byte)i).ToArray());
        await using var rig = await PipelineRig.StartAsync(Small, secretKey: key);
        var rows = Encoding.UTF8.GetBytes(PipelineRig.Accounts(0, 300));
        await rig.DropAsync("Locked.zip", ArchiveTesting.Encrypted("correct horse", 256, CompressionMethod.Deflated, ("a.csv", rows)));
        await rig.RunToEndAsync();
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal(LoadState.Failed, load.State);
        Assert.Contains("--password", load.Error, StringComparison.Ordinal);

        var resume = rig.Context.Get<ResumeLoad>();
        await resume.RunAsync(load.Id, restart: false, "wrong", None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Failed, (await rig.LoadAsync(load.Id.Value)).State);

        await resume.RunAsync(load.Id, restart: false, "correct horse", None);
        Assert.NotNull(await rig.Context.Database.GetPasswordAsync(load.Blob, None));
        await PipelineRig.RunToEndAsync(rig.OpenContext(key)); // another process, with the key
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(load.Id.Value)).State);
        Assert.Equal(300, (await rig.TableAsync()).Count);
        Assert.Null(await rig.Context.Database.GetPasswordAsync(load.Blob, None));
    }

    [Fact]
    public async Task Setup_refuses_a_fresh_table_paired_with_a_used_database()
    {
        await using var used = await PipelineRig.StartAsync(Small);
        await used.LoadAccountsAsync("X.zip", 0, 10);
        await using var fresh = await PipelineRig.NewAsync();
        await Refusal.AssertAsync<StoreMismatchException>(
            "has loads whose accounts are in another account table",
            () => (fresh.Context with { Database = used.Context.Database }).Get<StoreSetup>().EnsureAsync(None));
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
            Assert.Equal(setUpBefore == 1, await watched.Get<StoreSetup>().CheckAsync(None));
            Assert.True(calls < setUpBefore || await watched.Get<StoreSetup>().CheckAsync(None));

            Task BeforeAsync() => ++calls == setUpBefore
                ? rig.OpenContext().Get<StoreSetup>().EnsureAsync(None) : Task.CompletedTask;
        }
        Assert.InRange(calls, 2, 10);
    }
}
