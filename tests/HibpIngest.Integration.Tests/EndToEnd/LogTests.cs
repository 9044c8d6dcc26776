using HibpIngest.Hosting;
using HibpIngest.Hosting.Messages;
using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Segments;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests what the pipeline writes to the journal, and how the log is used.</summary>
public sealed class LogTests
{
    private const int Rows = 530;
    private const int Segments = 3; // of 200 rows: 2 batches of 2 slices each
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact]
    public async Task Journal_holds_every_row_of_a_load_and_a_document_that_describes_it()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0, """{"Title":"Adobe Systems","IsSensitive":true,"BreachDate":"2013-10-04"}""");
        var load = await rig.LoadAsync(1);
        Assert.True(load is { State: LoadState.Done, IsJournaled: true, AwaitsJournal: false });
        var logged = Assert.Single(await LogContent.ReadAsync(rig.Context.Log));
        Assert.Equal((1, JournaledState.Counts, Segments), (logged.Load, logged.State, logged.Segments));
        Assert.Equal([JournalNames.Load], logged.Documents);
        Assert.Equal(PipelineRig.Expected(0, Rows).Order(), logged.Accounts.Order());

        using var document = await DocumentAsync(rig, JournalNames.Load);
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
        await rig.Context.Get<Sweep>().RunAsync(None);
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Later_changes_write_a_new_document_and_the_newest_one_applies()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0);
        await LoadAsync(rig, "Adobe.2.zip", 300, """{"Title":"Adobe Systems"}""");
        // The second load's metadata changes the first load's document too.
        Assert.All(await LogContent.ReadAsync(rig.Context.Log), load => Assert.Equal(
            "Adobe Systems", load.Document!.Metadata.GetProperty("Title").GetString()));

        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None);
        Assert.Equal([1L, 2], (await rig.Context.Register.ListOpenAsync(None)).Select(open => open.Load.Value).Order());
        await rig.RunToEndAsync();
        Assert.All(await LogContent.ReadAsync(rig.Context.Log), load => Assert.True(load.Document!.Hidden));
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", false, None);
        await rig.Context.Get<AssignLoad>().RunAsync(new(2), "Bold", None);
        await rig.RunToEndAsync();
        await rig.Context.Get<Sweep>().RunAsync(None);
        var logged = await LogContent.ReadAsync(rig.Context.Log);
        Assert.Equal([("Adobe", false), ("Bold", false)], logged.Select(load => (load.Document!.Breach, load.Document.Hidden)));
        Assert.All(logged, load => Assert.Contains(JournalNames.Load, load.Documents));
        Assert.Equal([Rows, Rows], logged.Select(load => load.Accounts.Count));
        Assert.All(await rig.LoadsAsync(), load => Assert.True(load.IsJournaled));
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Lost_journal_messages_are_resent_and_a_failed_write_shows_its_error_until_fixed()
    {
        var clock = new TestClock();
        await using var rig = await StartAsync(time: clock);
        await rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, Rows))));
        // All messages for the log are lost.
        await RunWithoutLogAsync(rig);
        Assert.True((await rig.LoadAsync(1)) is { State: LoadState.Done, AwaitsJournal: true });
        await rig.Context.Get<Sweep>().RunAsync(None);
        Assert.Single(await rig.Context.Register.ListOpenAsync(None));
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Journal]);
        clock.Advance(TimeSpan.FromMinutes(21));
        await rig.Context.Get<Sweep>().RunAsync(None);

        // Another load's segment is in its place.
        var entry = (await rig.Context.Database.GetJournalEntryAsync(new(1), None))!;
        var name = JournalNames.Segment(JournalNames.Folder(entry), 201);
        await using (var other = await StartAsync())
        {
            await LoadAsync(other, "Bold.zip", 0);
            var foreign = (await JournalManifest.ReadAsync(other.Context.Log, None)).Loads[0].Folder;
            var stream = await other.Context.Log.OpenAsync(JournalNames.Segment(foreign, 201), 0, long.MaxValue, None);
            Assert.True(await rig.Context.Log.UploadAsync(name, stream!, None));
        }
        await rig.RunToEndAsync();
        var failed = await rig.LoadAsync(1);
        Assert.True(failed.AwaitsJournal);
        Assert.Contains(name, failed.JournalError, StringComparison.Ordinal);
        Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));

        await rig.Context.Log.DeleteAsync(name, None);
        clock.Advance(TimeSpan.FromMinutes(21));
        await rig.Context.Get<Sweep>().RunAsync(None);
        await rig.RunToEndAsync();
        Assert.True((await rig.LoadAsync(1)) is { IsJournaled: true, JournalError: null });
        Assert.Equal(Rows, Assert.Single(await LogContent.ReadAsync(rig.Context.Log)).Accounts.Count);
    }

    [Fact]
    public async Task Blobs_written_but_not_recorded_before_a_crash_are_verified_and_kept()
    {
        await using var rig = await StartAsync();
        await rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, Rows))));
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
        await LoadAsync(rig, "Adobe.zip", 0);
        await LoadAsync(rig, "Adobe.zip", 100); // the same name: replaces the first
        await LoadAsync(rig, "Bold.zip", 0);
        await LoadAsync(rig, "Cash.zip", 0, """{"Name": 7}""");
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
        await LoadAsync(rig, "Bold.zip", 0);
        await rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, Rows))));
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
        await rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, Rows))));
        await RunWithoutLogAsync(rig);
        var (purge, requeue) = (rig.Context.Get<PurgeLoad>(), rig.Context.Get<RequeueSlices>());
        await Assert.ThrowsAsync<NotPossibleException>(() => purge.RunAsync(new(1), withoutJournal: false, null, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => purge.RunAsync(new(1), withoutJournal: true, null, None));
        await rig.Context.Get<WriteJournal>().RunAsync((await rig.Context.Database.GetJournalEntryAsync(new(1), None))!, null, None);

        // One flipped bit anywhere in a segment.
        var name = (await ListAsync(rig)).Select(blob => blob.Name)
            .First(one => one.EndsWith("000000000201.alog", StringComparison.Ordinal));
        var whole = await ReadAsync(rig, name);
        foreach (var at in (int[])[10, whole.Length / 2, whole.Length - 10])
        {
            var damaged = whole.ToArray();
            damaged[at] ^= 4;
            await ReplaceAsync(rig, name, damaged);
            var refused = await Assert.ThrowsAsync<DamagedSegmentException>(
                () => purge.RunAsync(new(1), withoutJournal: false, null, None));
            Assert.Contains(name, refused.Message, StringComparison.Ordinal);
        }
        await ReplaceAsync(rig, name, whole[..^1]);
        await Assert.ThrowsAsync<DamagedSegmentException>(() => purge.RunAsync(new(1), withoutJournal: false, null, None));
        await rig.Context.Log.DeleteAsync(name, None);
        await Assert.ThrowsAnyAsync<HibpException>(() => purge.RunAsync(new(1), withoutJournal: false, null, None));
        Assert.Equal(Rows, await CountAsync(rig, "rows"));
        await ReplaceAsync(rig, name, whole);
        Assert.Equal(Rows, await purge.RunAsync(new(1), withoutJournal: false, null, None));
        Assert.Equal(0, await CountAsync(rig, "rows"));

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
        await rig.Context.Get<Sweep>().RunAsync(None);
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Journal_off_writes_nothing_and_purge_requires_an_explicit_option()
    {
        await using var rig = await StartAsync(options => options.Journal.Mode = JournalMode.Off);
        await LoadAsync(rig, "Adobe.zip", 0);
        Assert.Empty(await ListAsync(rig));
        var refused = await Assert.ThrowsAsync<NotPossibleException>(
            () => rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: false, null, None));
        Assert.Contains("--without-log", refused.Message, StringComparison.Ordinal);
        Assert.Equal(Rows, await rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: true, null, None));
        await rig.Context.Get<Sweep>().RunAsync(None);
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    private static Task<PipelineRig> StartAsync(Action<TestOptions>? configure = null, TimeProvider? time = null) =>
        PipelineRig.StartAsync(
            options =>
            {
                (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.SegmentBatches, options.Journal.Mode)
                    = (100, 50, 2, JournalMode.On);
                configure?.Invoke(options);
            },
            time);

    private static async Task LoadAsync(PipelineRig rig, string zip, int first, string? metadata = null)
    {
        await rig.DropAsync(zip, PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, Rows))), metadata);
        await rig.RunToEndAsync();
    }

    /// <summary>Processes all messages except the log's, which are lost.</summary>
    private static async Task RunWithoutLogAsync(PipelineRig rig)
    {
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
        var dispatcher = rig.Context.Get<MessageDispatcher>();
        for (var any = true; any;)
        {
            any = false;
            foreach (var queue in PipelineRig.LoadQueues.Where(name => name != QueueNames.Journal).Select(rig.Context.Queues.Get))
            {
                foreach (var message in await queue.ReceiveAsync(32, TimeSpan.FromMinutes(10), None))
                {
                    any = true;
                    await dispatcher.DispatchAsync(queue.Name, message.Body, None);
                    await queue.DeleteAsync(message, None);
                }
            }
        }
        await rig.Context.Queues.Get(QueueNames.Journal).ClearAsync(None);
    }

    private static async Task<JsonDocument> DocumentAsync(PipelineRig rig, string name)
    {
        var folder = (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads[0].Folder;
        return JsonDocument.Parse(await ReadAsync(rig, folder + name));
    }

    private static async Task<byte[]> ReadAsync(PipelineRig rig, string name)
    {
        await using var stream = await rig.Context.Log.OpenAsync(name, 0, long.MaxValue, None);
        using var copy = new MemoryStream();
        await stream!.CopyToAsync(copy);
        return copy.ToArray();
    }

    private static async Task ReplaceAsync(PipelineRig rig, string name, byte[] content)
    {
        await rig.Context.Log.DeleteAsync(name, None);
        Assert.True(await rig.Context.Log.WriteAsync(name, content, None));
    }

    private static async Task<List<JournalBlob>> ListAsync(PipelineRig rig)
    {
        var blobs = new List<JournalBlob>();
        await foreach (var blob in rig.Context.Log.ListAsync("", None))
            blobs.Add(blob);
        return blobs;
    }

    private static async Task<long> CountAsync(PipelineRig rig, string table) =>
        (long)(await rig.ExecuteAsync($"SELECT COUNT(*) FROM {table}"))!;
}
