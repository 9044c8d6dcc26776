using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Segments;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests what the pipeline writes to the journal, and how the log is used.</summary>
public sealed class LogTests
{
    private const int Rows = 530;
    private const int Segments = 3; // of 200 rows: 2 batches of 2 slices each

    [Fact]
    public async Task Journal_holds_every_row_of_a_load_and_a_document_that_describes_it()
    {
        await using var rig = await StartAsync();
        await rig.LoadAccountsAsync("Adobe.zip", 0, Rows, """{"Title":"Adobe Systems","IsSensitive":true,"BreachDate":"2013-10-04"}""");
        var load = await rig.LoadAsync(1);
        Assert.True(load is { State: LoadState.Done, IsJournaled: true, AwaitsJournal: false });
        var logged = Assert.Single(await LogContent.ReadAsync(rig.Context.Log));
        Assert.Equal((1, JournaledState.Counts, Segments), (logged.Load, logged.State, logged.Segments));
        Assert.Equal([JournalNames.Load], logged.Documents);
        Assert.Equal(PipelineRig.Expected(0, Rows).Order(), logged.Accounts.Order());

        var folder = (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads[0].Folder;
        using var document = JsonDocument.Parse(await rig.ReadJournalAsync(folder + JournalNames.Load));
        var root = document.RootElement;
        Assert.Equal(
            ["format", "store", "load", "mark", "breach", "blob", "etag", "generation", "startedAt", "settings", "rows", "accounts",
                "segments",  "replaces", "version", "publishedAt", "breachPublishedAt", "modifiedAt", "hidden", "metadata"],
            root.EnumerateObject().Select(property => property.Name));
        Assert.Equal(load.Blob.ETag, root.GetProperty("etag").GetString());
        Assert.Equal((Rows, load.Mark), (root.GetProperty("rows").GetInt32(), root.GetProperty("mark").GetInt32()));
        Assert.Equal("Adobe Systems", root.GetProperty("metadata").GetProperty("Title").GetString());
        Assert.True(root.GetProperty("metadata").GetProperty("IsSensitive").GetBoolean());
        Assert.Equal(
            [1, 201, 401], root.GetProperty("segments").EnumerateArray().Select(segment => segment.GetProperty("first").GetInt64()));
        await rig.Context.SweepAsync();
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Lost_journal_messages_are_resent_and_a_failed_write_shows_its_error_until_fixed()
    {
        var clock = new TestClock();
        await using var rig = await StartAsync(time: clock);
        await rig.DropAccountsAsync("Adobe.zip", 0, Rows);
        // All messages for the log are lost.
        await RunWithoutLogAsync(rig);
        Assert.True((await rig.LoadAsync(1)) is { State: LoadState.Done, AwaitsJournal: true });
        await rig.Context.SweepAsync();
        Assert.Single(await rig.Context.Register.ListOpenAsync(None));
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Journal]);
        clock.Advance(TimeSpan.FromMinutes(21));
        await rig.Context.SweepAsync();

        // Another load's segment is in its place.
        var entry = (await rig.Context.Database.GetJournalEntryAsync(new(1), None))!;
        var name = JournalNames.Segment(JournalNames.Folder(entry), 201);
        await using (var other = await StartAsync())
        {
            await other.LoadAccountsAsync("Bold.zip", 0, Rows);
            var foreign = (await JournalManifest.ReadAsync(other.Context.Log, None)).Loads[0].Folder;
            var stream = await other.Context.Log.OpenAsync(JournalNames.Segment(foreign, 201), 0, long.MaxValue, None);
            Assert.True(await rig.Context.Log.UploadAsync(name, stream!, None));
        }
        await rig.RunToEndAsync();
        var failed = await rig.LoadAsync(1);
        Assert.True(failed.AwaitsJournal);
        Assert.Contains(name, failed.JournalError, StringComparison.Ordinal);
        await rig.AssertQueuesEmptyAsync();

        await rig.Context.Log.DeleteAsync(name, None);
        clock.Advance(TimeSpan.FromMinutes(21));
        await rig.Context.SweepToEndAsync();
        Assert.True((await rig.LoadAsync(1)) is { IsJournaled: true, JournalError: null });
        Assert.Equal(Rows, Assert.Single(await LogContent.ReadAsync(rig.Context.Log)).Accounts.Count);
    }

    [Fact]
    public async Task Blobs_written_but_not_recorded_before_a_crash_are_verified_and_kept()
    {
        await using var rig = await StartAsync();
        await rig.DropAccountsAsync("Adobe.zip", 0, Rows);
        await RunWithoutLogAsync(rig);
        var entry = (await rig.Context.Database.GetJournalEntryAsync(new(1), None))!;
        await rig.Context.Get<WriteJournal>().RunAsync(entry, null, None);
        var before = await ListAsync(rig);
        await rig.ExecuteAsync("UPDATE log_segments SET bytes = NULL; UPDATE loads SET logged_version = NULL");
        await rig.Context.Get<WriteJournal>().RunAsync((await rig.Context.Database.GetJournalEntryAsync(new(1), None))!, null, None);
        Assert.Equal(before, await ListAsync(rig));
        Assert.True((await rig.LoadAsync(1)).IsJournaled);
    }

    [Fact]
    public async Task Failed_loads_are_not_in_the_journal_and_replaced_ones_do_not_count()
    {
        await using var rig = await StartAsync();
        await rig.LoadAccountsAsync("Adobe.zip", 0, Rows);
        await rig.LoadAccountsAsync("Adobe.zip", 100, Rows); // the same name: replaces the first
        await rig.LoadAccountsAsync("Bold.zip", 0, Rows);
        await rig.LoadAccountsAsync("Cash.zip", 0, Rows, """{"Name": 7}""");
        Assert.Equal(
            [(1, JournaledState.Replaced), (2, JournaledState.Counts), (3, JournaledState.Counts)],
            (await LogContent.ReadAsync(rig.Context.Log)).Select(load => (load.Load, load.State)));
        // Removing the replacing load doesn't bring the replaced one back.
        await rig.Context.Get<AssignLoad>().RunAsync(new(2), "Dust", None);
        await rig.RunToEndAsync();
        await rig.Context.Get<RemoveBreach>().RunAsync("Dust", null, None);
        Assert.Equal(
            [(1, JournaledState.Replaced), (2, JournaledState.Removed), (3, JournaledState.Counts)],
            (await LogContent.ReadAsync(rig.Context.Log)).Select(load => (load.Load, load.State)));
    }

    [Fact]
    public async Task Removal_leaves_only_its_document_in_the_journal_even_during_a_write()
    {
        await using var rig = await StartAsync();
        await rig.LoadAccountsAsync("Bold.zip", 0, Rows);
        await rig.DropAccountsAsync("Adobe.zip", 0, Rows);
        await RunWithoutLogAsync(rig);
        var entry = (await rig.Context.Database.GetJournalEntryAsync(new(2), None))!;
        // The breach is removed just before the second segment is committed.
        var uploads = 0;
        var log = PortProxy<IJournalBlobs>.Create(rig.Context.Log, async method =>
        {
            if (method == nameof(IJournalBlobs.UploadAsync) && Interlocked.Increment(ref uploads) == 2)
                await rig.OpenContext().Get<RemoveBreach>().RunAsync("Adobe", null, None);
        });
        await Assert.ThrowsAnyAsync<HibpException>(() => (rig.Context with { Log = log }).Get<WriteJournal>().RunAsync(entry, null, None));
        var logged = await LogContent.ReadAsync(rig.Context.Log);
        Assert.Equal(
            [(1, JournaledState.Counts, Segments), (2, JournaledState.Removed, 0)],
                logged.Select(one => (one.Load, one.State, one.Segments)));
        Assert.Equal([JournalNames.Removed], logged[1].Documents);
        var removed = await rig.Context.Get<RemoveBreach>().RunAsync("Bold", null, None);
        Assert.Equal([new(1)], removed.Loads);
        Assert.All(await LogContent.ReadAsync(rig.Context.Log), one => Assert.Equal([JournalNames.Removed], one.Documents));
        Assert.Empty(await rig.TableAsync());
    }

    [Fact]
    public async Task Purge_verifies_the_journal_first_and_slices_are_then_written_from_it()
    {
        await using var rig = await StartAsync();
        await rig.DropAccountsAsync("Adobe.zip", 0, Rows);
        await RunWithoutLogAsync(rig);
        var (purge, requeue) = (rig.Context.Get<PurgeLoad>(), rig.Context.Get<RequeueSlices>());
        await Assert.ThrowsAsync<NotPossibleException>(() => purge.RunAsync(new(1), withoutJournal: false, null, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => purge.RunAsync(new(1), withoutJournal: true, null, None));
        await rig.Context.Get<WriteJournal>().RunAsync((await rig.Context.Database.GetJournalEntryAsync(new(1), None))!, null, None);

        // One flipped bit anywhere in a segment.
        var name = (await ListAsync(rig)).Select(blob => blob.Name)
            .First(one => one.EndsWith("000000000201.alog", StringComparison.Ordinal));
        var whole = await rig.ReadJournalAsync(name);
        foreach (var at in (int[])[10, whole.Length / 2, whole.Length - 10])
        {
            var damaged = whole.ToArray();
            damaged[at] ^= 4;
            await ReplaceAsync(rig, name, damaged);
            await Refusal.AssertAsync<DamagedSegmentException>(name, () => purge.RunAsync(new(1), withoutJournal: false, null, None));
        }
        await ReplaceAsync(rig, name, whole[..^1]);
        await Assert.ThrowsAsync<DamagedSegmentException>(() => purge.RunAsync(new(1), withoutJournal: false, null, None));
        await rig.Context.Log.DeleteAsync(name, None);
        await Assert.ThrowsAnyAsync<HibpException>(() => purge.RunAsync(new(1), withoutJournal: false, null, None));
        Assert.Equal(Rows, await rig.CountAsync("rows"));
        await ReplaceAsync(rig, name, whole);
        Assert.Equal(Rows, await purge.RunAsync(new(1), withoutJournal: false, null, None));
        Assert.Equal(0, await rig.CountAsync("rows"));

        // Half of the table is lost and restored from the log; no subscriber is notified again.
        var table = await rig.TableAsync();
        foreach (var domain in table.Keys.GroupBy(account => account.Split('@')[1], account => account.Split('@')[0]))
            await rig.Context.Table.RemoveMarkAsync(domain.Key, [.. domain], 1, None);
        Assert.Empty(await rig.TableAsync());
        Assert.Equal(1, await requeue.RunAsync("Adobe", 2, failedOnly: false, None));
        await rig.RunToEndAsync();
        Assert.Equal(PipelineRig.Expected(50, 50).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.Equal(11, await requeue.RunAsync("Adobe", null, failedOnly: false, None));
        await rig.RunToEndAsync();
        Assert.Equal(table.Keys.Order(), (await rig.TableAsync()).Keys.Order());
        Assert.True(await rig.LoadAsync(1) is { State: LoadState.Done, Purged: true, IsJournaled: true, Accounts: Rows });
        await rig.Context.SweepAsync();
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    private static Task<PipelineRig> StartAsync(TimeProvider? time = null) => PipelineRig.StartAsync(
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.SegmentBatches, options.Journal.Mode)
            = (100, 50, 2, JournalMode.On), time);

    /// <summary>Processes all messages except the journal's, which are lost.</summary>
    private static async Task RunWithoutLogAsync(PipelineRig rig)
    {
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
        foreach (var queue in PipelineRig.LoadQueues.Where(name => name != QueueNames.Journal))
            await rig.Context.HandleMessagesAsync(queue);
        await rig.Context.Queues.Get(QueueNames.Journal).ClearAsync(None);
    }

    private static async Task ReplaceAsync(PipelineRig rig, string name, byte[] content)
    {
        await rig.Context.Log.DeleteAsync(name, None);
        Assert.True(await rig.Context.Log.WriteAsync(name, content, None));
    }

    private static Task<List<JournalBlob>> ListAsync(PipelineRig rig) => rig.Context.Log.ListAsync("", None).ToListAsync().AsTask();
}
