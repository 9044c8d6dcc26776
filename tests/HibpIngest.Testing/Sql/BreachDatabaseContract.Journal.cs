namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Segments_are_planned_once_and_only_after_ingest_finishes()
    {
        var load = await IngestAsync(Numbered(7));
        Assert.Empty(await Database.PlanSegmentsAsync(load.Id, 3, None));
        await Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint(), None);
        JournalSegment[] expected = [new(1, 1, 3, null), new(2, 4, 6, null), new(3, 7, 7, null)];
        Assert.Equal(expected, await Database.PlanSegmentsAsync(load.Id, 3, None));
        Assert.Equal(expected, await Database.PlanSegmentsAsync(load.Id, 100, None));
        Assert.Empty(await Database.PlanSegmentsAsync(new(load.Id.Value + 1), 3, None));

        await Database.MarkSegmentWrittenAsync(load.Id, 2, 4_711, None);
        var entry = (await Database.GetJournalEntryAsync(load.Id, None))!;
        Assert.Equal([null, 4_711, null], entry.Segments.Select(segment => segment.Bytes));
        Assert.True(
            entry is { IsComplete: true, Stopped: false, Purged: false, LastPosition: 7, Mark: > 0, Generation: 1, PublishedAt: null });
        Assert.Equal((load.Blob, load.StartedAt, "Adobe"), (entry.Blob, entry.StartedAt, entry.Breach.Name));
        Assert.Null(await Database.GetJournalEntryAsync(new(load.Id.Value + 1), None));
    }

    [Fact]
    public async Task Segments_are_not_planned_for_a_restarted_or_removed_load()
    {
        var restarted = await IngestAllAsync(Numbered(2));
        await Database.FailLoadAsync(restarted.Id, "bad", None);
        await Database.RestartLoadAsync(restarted.Id, Settings, None);
        Assert.Empty(await Database.PlanSegmentsAsync(restarted.Id, 3, None));
        Assert.True((await Database.GetJournalEntryAsync(restarted.Id, None))!.Stopped);

        var done = await MatchedAsync(Numbered(2), "Bold");
        await Database.BeginRemovalAsync("Bold", None);
        Assert.Empty(await Database.PlanSegmentsAsync(done.Id, 3, None));
        await Database.MarkJournaledAsync(done.Id, 100, None);
        Assert.True(await Database.GetJournalEntryAsync(done.Id, None) is { Stopped: true, Removing: true, JournaledVersion: null });
    }

    [Fact]
    public async Task Load_waits_for_the_journal_again_after_a_change_of_its_entry()
    {
        var first = await UpsertAsync(Numbered(2));
        Assert.False((await LoadAsync(first.Id)).AwaitsJournal);
        await MatchAsync(first.Id);
        var version = await LogAsync(first.Id);
        await Database.SetJournalErrorAsync(first.Id, "the log\nis down", None);
        Assert.Equal("the log is down", (await LoadAsync(first.Id)).JournalError);
        version = await LogAsync(first.Id, version, waits: false);
        Assert.Null((await LoadAsync(first.Id)).JournalError);

        await Database.SetHiddenAsync("Adobe", true, None);
        version = await LogAsync(first.Id, version);
        await Database.MergeMetadataAsync("Adobe", Encoding.UTF8.GetBytes("""{"Title":"Adobe"}"""), byOperator: true, None);
        version = await LogAsync(first.Id, version, waits: false); // no logged content has changed
        await Database.MergeMetadataAsync("Adobe", Encoding.UTF8.GetBytes("""{"Title":"Adobe Systems"}"""), byOperator: true, None);
        version = await LogAsync(first.Id, version);

        // Another load of the breach adds a log entry, and doesn't change the first.
        var second = await MatchedAsync(Numbered(3), blob: Blob("Adobe.2.zip"));
        await LogAsync(first.Id, version, waits: false);
        var versionOfSecond = await LogAsync(second.Id, version);
        await Database.AssignLoadAsync(second.Id, "Bold", null, None);
        Assert.True(await LogAsync(second.Id, versionOfSecond) > version);
        await LogAsync(first.Id, version, waits: false);
        Assert.Equal("Bold", (await Database.GetJournalEntryAsync(second.Id, None))!.Breach.Name);
    }

    [Fact]
    public async Task Journal_entry_lists_the_loads_it_replaces_whether_or_not_they_were_logged()
    {
        var first = await MatchedAsync(Numbered(2));
        await LogAsync(first.Id);
        var second = await MatchedAsync(Numbered(3), blob: Blob(etag: "\"0x2\""));
        Assert.Equal([first.Id], (await Database.GetJournalEntryAsync(second.Id, None))!.Replaces);
        Assert.False((await LoadAsync(first.Id)).AwaitsJournal);
        Assert.True((await LoadAsync(second.Id)).AwaitsJournal);
        var third = await MatchedAsync(Numbered(2), blob: Blob(etag: "\"0x3\""));
        Assert.Equal([first.Id, second.Id], (await Database.GetJournalEntryAsync(third.Id, None))!.Replaces);
        var fourth = await MatchedAsync(Numbered(2), blob: Blob(etag: "\"0x4\""));
        Assert.Equal([first.Id, second.Id, third.Id], (await Database.GetJournalEntryAsync(fourth.Id, None))!.Replaces);
    }

    [Fact]
    public async Task Published_load_is_logged_although_it_was_restarted()
    {
        await ImportAsync("user1@example.com");
        var held = await UpsertAsync(Numbered(2));
        Assert.Equal(LoadState.Held, await MatchAsync(held.Id, hold: true));
        await Database.RestartLoadAsync(held.Id, Settings, None);
        Assert.True(await Database.GetJournalEntryAsync(held.Id, None) is { Stopped: false, PublishedAt: not null });
        Assert.Single(await Database.PlanSegmentsAsync(held.Id, 100, None));
        await LogAsync(held.Id);
    }

    [Fact]
    public async Task Purge_refuses_a_published_load_until_it_is_logged()
    {
        var counts = await MatchedAsync(Numbered(4));
        var refused = await RefusedAsync(() => Database.PurgeRowsAsync(counts.Id, 3, None, requireJournaled: true));
        Assert.Contains("hibp journal write", refused.Message, StringComparison.Ordinal);
        await LogAsync(counts.Id);
        Assert.Equal(3, await Database.PurgeRowsAsync(counts.Id, 3, None, requireJournaled: true));
        await Database.ForgetJournalAsync(counts.Id, None); // too late: some rows are already purged
        Assert.True((await LoadAsync(counts.Id)).IsJournaled);
        var failed = await IngestAsync(Numbered(2), blob: Blob("Adobe.2.zip"));
        await Database.FailLoadAsync(failed.Id, "bad", None);
        Assert.Equal(2, await Database.PurgeRowsAsync(failed.Id, 3, None, requireJournaled: true));
    }

    [Fact]
    public async Task Purged_load_with_open_mails_is_held_after_its_slices_are_rewritten()
    {
        await ImportAsync("user1@example.com");
        var load = await UpsertAsync(Numbered(2));
        await MatchAsync(load.Id, hold: true);
        await LogAsync(load.Id);
        await Database.FailLoadAsync(load.Id, "bad", None);
        foreach (var rows in (int[])[2, 0])
            Assert.Equal(rows, await Database.PurgeRowsAsync(load.Id, 5, None, requireJournaled: true));
        Assert.Single(await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None));
        Assert.Single(await Database.RequeueSlicesAsync(load.Id, 1, failedOnly: false, None)); // and again
        Assert.NotNull(await Database.BeginSliceAsync(load.Id, 1, MaxTries, None));
        await Database.CompleteSliceAsync(load.Id, 1, 2, None);
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.True(await Database.GetLoadAsync(load.Id, None) is { State: LoadState.Held, HeldBecause: not null, Notifications.Open: 1 });
    }

    [Fact]
    public async Task Slice_of_a_purged_load_is_requeued_only_if_the_load_is_logged()
    {
        var load = await MatchedAsync(Numbered(7));
        foreach (var rows in (int[])[5, 2, 0])
            Assert.Equal(rows, await Database.PurgeRowsAsync(load.Id, 5, None));
        await RefusedAsync(() => Database.RequeueSlicesAsync(load.Id, 1, failedOnly: false, None));
        Assert.False((await LoadAsync(load.Id)).AwaitsJournal);

        await Database.MarkJournaledAsync(load.Id, 1_000, None);
        Assert.Equal([2], (await Database.RequeueSlicesAsync(load.Id, 2, failedOnly: false, None)).Select(slice => slice.Number));
        Assert.Equal(LoadState.Upserting, (await LoadAsync(load.Id)).State);
        Assert.Equal([2], (await Database.ListPendingSlicesAsync(TimeSpan.Zero, 10, None)).Select(slice => slice.Number));
        Assert.True((await Database.BeginSliceAsync(load.Id, 2, MaxTries, None))!.Purged);
        await Database.CompleteSliceAsync(load.Id, 2, 3, None);
        // It was matched while its rows existed.
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.True(await Database.GetLoadAsync(load.Id, None) is { State: LoadState.Done, Purged: true, PublishedAt: not null });
    }

    /// <summary>Logs a load, and checks whether it had to wait for the log. Returns the logged version.</summary>
    private async Task<long> LogAsync(LoadId load, long before = 0, bool waits = true)
    {
        var found = await LoadAsync(load);
        Assert.Equal((waits, !waits), (found.AwaitsJournal, found.IsJournaled));
        var entry = (await Database.GetJournalEntryAsync(load, None))!;
        Assert.Equal((found.ChangedVersion, found.JournaledVersion), (entry.Version, entry.JournaledVersion));
        Assert.True(waits ? entry.Version > before : entry.Version == before || before == 0, $"{entry.Version}, {before}");
        await Database.MarkJournalMessageSentAsync(load, None);
        Assert.Equal(Now, (await LoadAsync(load)).JournalMessageAt);
        await Database.MarkJournaledAsync(load, entry.Version, None);
        await Database.MarkJournaledAsync(load, 0, None); // a late, older version lowers nothing
        Assert.True((await LoadAsync(load)).IsJournaled);
        return entry.Version;
    }
}
