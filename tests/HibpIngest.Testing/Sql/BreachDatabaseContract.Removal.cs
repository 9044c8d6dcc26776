namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Beginning_a_removal_unpublishes_the_breach_and_drops_notifications()
    {
        await ImportAsync("user1@example.com", "user2@example.com");
        var done = await MatchedAsync(Numbered(1));
        await SendAllAsync(done.Id);
        var held = await UpsertAsync(Numbered(2), blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Held, await MatchAsync(held.Id, hold: true));
        var failed = await IngestAsync(Numbered(3), blob: Blob("Adobe.3.zip"));
        await Database.FailLoadAsync(failed.Id, "bad", None);
        Assert.Equal([(int)done.Id.Value, (int)held.Id.Value], (await BreachAsync()).Marks);
        var version = (await Database.ReadCatalogueAsync(None)).Version;

        Assert.Empty(await Database.ListRemovalsAsync(None));
        var listed = await Database.BeginRemovalAsync("aDOBE", None);
        Assert.Equal([Whole(done, 1), Whole(held, 2), Whole(failed, 3)], listed);
        Assert.Equal(listed.Select(load => ("Adobe", load)), await Database.ListRemovalsAsync(None));
        var breach = await BreachAsync();
        Assert.Empty(breach.Marks);
        Assert.False(breach.IsPublic);
        Assert.Equal(version + 1, (await Database.ReadCatalogueAsync(None)).Version);
        Assert.All(
            await Database.ListLoadsAsync("Adobe", None),
            load => Assert.True(load is { Removing: true, PublishedAt: null, Notifications.Total: 0 }));
        Assert.True((await Database.GetLoadHeadAsync(done.Id, None))!.Stopped);

        // Repeating it returns the same list, and changes nothing in the catalogue.
        Assert.Equal(listed, await Database.BeginRemovalAsync("Adobe", None));
        Assert.Equal(version + 1, (await Database.ReadCatalogueAsync(None)).Version);
        await RefusedAsync(() => Database.BeginRemovalAsync("Bold", None));
    }

    [Fact]
    public async Task Removal_is_refused_while_a_load_is_open()
    {
        var done = await MatchedAsync(Numbered(1));
        var open = await IngestAsync(Numbered(2), blob: Blob("Adobe.2.zip"));
        for (var step = 0; step < 3; step++)
        {
            var refused = await RefusedAsync(() => Database.BeginRemovalAsync("Adobe", None));
            Assert.Contains($"load {open.Id} ", refused.Message, StringComparison.Ordinal);
            Assert.Single((await BreachAsync()).Marks);
            if (step == 0)
                await Database.FinishIngestAsync(open.Id, Me, new LoadCheckpoint(), None);
            await CompleteSlicesAsync(open.Id);
            await Database.TryStartMatchingAsync(open.Id, None);
        }
        await MatchAsync(open.Id);
        Assert.Equal(2, (await Database.BeginRemovalAsync("Adobe", None)).Count);
    }

    [Fact]
    public async Task Load_being_removed_refuses_all_further_work()
    {
        await ImportAsync("user1@example.com");
        var held = await UpsertAsync(Numbered(4));
        await MatchAsync(held.Id, hold: true);
        var failed = await IngestAllAsync(Numbered(7), blob: Blob("Adobe.2.zip"));
        Assert.NotNull(await Database.BeginSliceAsync(failed.Id, 1, MaxTries, None));
        await Database.CompleteSliceAsync(failed.Id, 2, 3, None);
        await Database.CompleteSliceAsync(failed.Id, 3, 1, None);
        await Database.FailSliceAsync(failed.Id, 1, "bad", exhausted: true, None);
        Assert.Equal(2, (await Database.BeginRemovalAsync("Adobe", None)).Count);

        Assert.Null(await Database.BeginSliceAsync(failed.Id, 1, MaxTries, None));
        Assert.Null(await Database.BeginSliceAsync(held.Id, 1, MaxTries, None));
        Assert.False(await Database.ReleaseLoadNotificationsAsync(held.Id, None));
        Assert.Empty(await ClaimedAsync(held.Id, 1, 10));
        foreach (var load in (LoadId[])[held.Id, failed.Id])
        {
            await RefusedAsync(() => Database.RequeueSlicesAsync(load, null, failedOnly: false, None));
            await RefusedAsync(() => Database.RequeueSlicesAsync(load, 1, failedOnly: false, None));
            await RefusedAsync(() => Database.RestartLoadAsync(load, Settings, None));
            await RefusedAsync(() => Database.PurgeRowsAsync(load, 100, None));
        }
        await RefusedAsync(() => Database.ResumeLoadAsync(failed.Id, None));
        // The last failed slice, begun before, ends: its load's state doesn't change.
        await Database.CompleteSliceAsync(failed.Id, 1, 3, None);
        Assert.Equal((LoadState.Held, LoadState.Failed), (await StateAsync(held.Id), await StateAsync(failed.Id)));
        Assert.Equal(11, await CountAsync("rows"));
    }

    [Fact]
    public async Task Load_started_during_a_removal_is_untouched_and_keeps_the_breach()
    {
        await ImportAsync("user1@example.com", "boss@example.org for example.com");
        var old = await UpsertAsync(Numbered(4));
        await Database.MergeMetadataAsync("Adobe", """{"Title":"Adobe Systems","IsSensitive":true}"""u8.ToArray(), byOperator: true, None);
        await MatchAsync(old.Id);
        await SendAllAsync(old.Id);
        var listed = await Database.BeginRemovalAsync("Adobe", None);

        // The new load is being matched when the rest of the old one is deleted.
        var fresh = await Database.StartLoadAsync(new NewLoad(DatabaseSteps.DrawId(), "Adobe", Blob("Adobe.2.zip"), Settings), None);
        Assert.True(await Database.TryClaimLoadAsync(fresh.Id, Me, Lease, None));
        await CommitAsync(fresh.Id, Me, Batch(1, Numbered(6)));
        Assert.Equal(listed, await Database.BeginRemovalAsync("Adobe", None));
        await Database.FinishIngestAsync(fresh.Id, Me, new LoadCheckpoint(), None);
        await CompleteSlicesAsync(fresh.Id);
        Assert.True(await Database.TryStartMatchingAsync(fresh.Id, None));
        Assert.True(await Database.MatchRowsAsync(fresh.Id, 0, 4, None));
        await Database.DeleteRowsUpToAsync(old.Id, 4, None);
        await Database.FinishRemovalAsync(old.Id, None);
        Assert.True(await Database.MatchRowsAsync(fresh.Id, 4, 6, None));
        Assert.Equal(LoadState.Notifying, await Database.FinishMatchingAsync(fresh.Id, hold: false, suppress: false, None));

        var left = Assert.Single(await Database.ListLoadsAsync(null, None));
        Assert.True(left is { LastPosition: 6, Slices.Done: 2, Removing: false, PublishedAt: not null });
        Assert.Equal((6, 2), (await CountAsync("rows"), await CountAsync("slices")));
        // Subscribers notified by the old load are notified again, as if it had been removed before the upload.
        Assert.Equal(["1: user1@example.com", "2: boss@example.org for example.com, 6 accounts"], await FormatAsync(fresh.Id));
        var breach = await BreachAsync();
        Assert.Equal(("Adobe Systems", BreachFlags.Sensitive), (breach.Metadata.Title, breach.Metadata.Flags & BreachFlags.Sensitive));
        Assert.Equal([(int)fresh.Id.Value], breach.Marks);
        Assert.NotNull(breach.PublishedAt);
    }

    [Fact]
    public async Task Interrupted_removal_resumes_and_keeps_newer_loads()
    {
        var old = await MatchedAsync(Numbered(4));
        var listed = await Database.BeginRemovalAsync("Adobe", None);
        var fresh = await UpsertAsync(Numbered(3), blob: Blob("Adobe.2.zip"));
        Assert.Equal(listed, await Database.BeginRemovalAsync("Adobe", None));
        await MatchAsync(fresh.Id);
        Assert.Equal(listed, await Database.BeginRemovalAsync("Adobe", None));
        await Database.FinishRemovalAsync(old.Id, None);
        await Database.FinishRemovalAsync(old.Id, None);
        await Database.FinishRemovalAsync(fresh.Id, None); // not listed for removal
        Assert.Equal([fresh.Id], (await Database.ListLoadsAsync("Adobe", None)).Select(load => load.Id));

        // Now the newer load is removed, and the breach with it.
        Assert.Equal([fresh.Id], (await Database.BeginRemovalAsync("Adobe", None)).Select(load => load.Load));
        await Database.FinishRemovalAsync(fresh.Id, None);
        Assert.Null(await Database.GetBreachAsync("Adobe", None));
        Assert.Equal(0, await CountAsync("rows"));
    }

    [Fact]
    public async Task Removal_deletes_processed_rows_and_resumes_after_them()
    {
        var load = await MatchedAsync(Numbered(7));
        Assert.Equal(0, await Database.DeleteRowsUpToAsync(load.Id, 7, None)); // not listed for removal
        var other = await UpsertAsync(Numbered(5), "Bold");
        await Database.BeginRemovalAsync("Adobe", None);
        Assert.Equal(3, await Database.DeleteRowsUpToAsync(load.Id, 3, None));
        Assert.Equal(0, await Database.DeleteRowsUpToAsync(load.Id, 3, None));
        Assert.Equal(0, await Database.DeleteRowsUpToAsync(load.Id, 2, None));
        Assert.Equal(Whole(load, 7) with { First = 4 }, Assert.Single(await Database.BeginRemovalAsync("Adobe", None)));
        Assert.Equal(4, await Database.DeleteRowsUpToAsync(load.Id, 7, None));
        Assert.Equal(8, Assert.Single(await Database.BeginRemovalAsync("Adobe", None)).First);
        Assert.Equal(5, await CountAsync("rows"));
        Assert.Equal(0, await Database.DeleteRowsUpToAsync(other.Id, 5, None));
    }

    [Theory]
    [InlineData(3, 4)]
    [InlineData(7, 8)]
    public async Task Removal_reports_purged_rows_and_keeps_the_table_token(int purged, long first)
    {
        var load = await MatchedAsync(Numbered(7));
        await Database.SetRemovalTokenAsync(load.Id, "too early", None);
        Assert.Equal(purged, await Database.PurgeRowsAsync(load.Id, purged, None));
        var listed = Assert.Single(await Database.BeginRemovalAsync("Adobe", None));
        Assert.Equal(new LoadRemoval(load.Id, (int)load.Id.Value, false, first, 7, true, null), listed);
        var token = $"""["&NextPartitionKey=1!8!ü'{new string('x', 5_000)}",null]""";
        await Database.SetRemovalTokenAsync(load.Id, token, None);
        Assert.Equal(listed with { Token = token }, Assert.Single(await Database.BeginRemovalAsync("Adobe", None)));
        await Database.FinishRemovalAsync(load.Id, None);
        Assert.Equal((0, 0, 0), (await CountAsync("rows"), await CountAsync("loads"), await CountAsync("breaches")));
    }

    [Fact]
    public async Task Removal_reports_a_mark_shared_with_a_remaining_load()
    {
        // As in a store upgraded from schema 1, where all loads of a breach share one mark.
        var first = await MarkedAsync("Adobe", "Adobe.zip", 900);
        var second = await MarkedAsync("Adobe", "Adobe.2.zip", 900);
        var third = await MarkedAsync("Adobe", "Adobe.3.zip", 901);
        var other = await MarkedAsync("Bold", "Bold.zip", 901);
        var adobe = await Database.BeginRemovalAsync("Adobe", None);
        Assert.Equal([(first, false), (second, false), (third, true)], adobe.Select(load => (load.Load, load.SharesMark)));
        var bold = await Database.BeginRemovalAsync("Bold", None);
        Assert.Equal([(other, false)], bold.Select(load => (load.Load, load.SharesMark)));
    }

    [Fact]
    public async Task Removal_of_a_load_without_batches_covers_no_rows()
    {
        var load = await Database.StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, "bad", None);
        Assert.Equal(new LoadRemoval(load.Id, 0, false, 1, 0, false, null), Assert.Single(await Database.BeginRemovalAsync("Adobe", None)));
        await Database.FinishRemovalAsync(load.Id, None);
        Assert.Null(await Database.GetBreachAsync("Adobe", None));
        await RefusedAsync(() => Database.BeginRemovalAsync("Adobe", None));
    }

    [Fact]
    public async Task Reassigned_load_is_removed_with_its_new_breach()
    {
        await ImportAsync("user1@example.com", "user2@example.com");
        var bold = await MatchedAsync(Numbered(1), "Bold");
        await SendAllAsync(bold.Id);
        var given = await MatchedAsync(Numbered(2));
        await SendAllAsync(given.Id);
        await Database.AssignLoadAsync(given.Id, "Bold", null, None);
        // A subscriber was notified of both: that stays under the name used in the notification, and Adobe's part is removed first.
        Assert.Empty(await Database.BeginRemovalAsync("Adobe", None));
        Assert.Null(await Database.GetBreachAsync("Adobe", None));
        Assert.Equal([(int)bold.Id.Value, (int)given.Id.Value], (await BreachAsync("Bold")).Marks);

        Assert.Equal([bold.Id, given.Id], (await Database.BeginRemovalAsync("Bold", None)).Select(load => load.Load));
        Assert.Equal(0, await CountAsync("notifications"));
        await RefusedAsync(() => Database.AssignLoadAsync(given.Id, "Adobe", null, None));
        await Database.RemoveBreachAsync("Bold", None);
        Assert.Equal((0, 0), (await CountAsync("loads"), await CountAsync("breaches")));
    }

    [Theory]
    [InlineData("its metadata says that it is of breach 'Bold'", false)]
    [InlineData("held by an operator", true)]
    [InlineData("restored; its metadata says that it is of breach 'Bold'", true)]
    public async Task Reassignment_ends_only_the_hold_for_a_breach_mismatch(string because, bool stays)
    {
        var load = await UpsertAsync(Numbered(4));
        await Database.HoldLoadsAsync("Adobe", because, None);
        await Database.FailLoadAsync(load.Id, owner: null, "no password", superseded: false, None);
        await Database.AssignLoadAsync(load.Id, "Bold", null, None);
        Assert.Equal(stays ? because : null, (await LoadAsync(load.Id)).HeldBecause);
    }

    [Fact]
    public async Task Removal_deletes_a_breach_whose_newer_load_was_reassigned_meanwhile()
    {
        await ImportAsync("user1@example.com");
        var bold = await MatchedAsync(Numbered(1), "Bold");
        await SendAllAsync(bold.Id);
        var old = await MatchedAsync(Numbered(1));
        await SendAllAsync(old.Id);
        await Database.BeginRemovalAsync("Adobe", None);
        var fresh = await MatchedAsync(Numbered(1), blob: Blob("Adobe.2.zip"));
        await SendAllAsync(fresh.Id);
        await Database.AssignLoadAsync(fresh.Id, "Bold", null, None);
        await Database.FinishRemovalAsync(old.Id, None);
        Assert.Null(await Database.GetBreachAsync("Adobe", None));
        Assert.Equal([bold.Id, fresh.Id], (await Database.ListLoadsAsync(null, None)).Select(load => load.Id));
    }

    private static LoadRemoval Whole(Load load, long last) =>
        new(load.Id, (int)load.Id.Value, SharesMark: false, First: 1, last, RowsPurged: false, Token: null);

    private async Task<LoadId> MarkedAsync(string breach, string blob, int mark)
    {
        var load = await ClaimAsync(breach, Blob(blob));
        await using (var copy = await Database.OpenCopyAsync(new BatchCopyOrder(load.Id, Me, mark, SliceRows, Lease), None))
            await copy.CommitAsync(Batch(1, Numbered(2)), new LoadCheckpoint(), false, None);
        await Database.FailLoadAsync(load.Id, "bad", None);
        return load.Id;
    }

    private async Task SendAllAsync(LoadId load)
    {
        foreach (var notification in await ClaimedAsync(load, 1, 100))
            Assert.True((await Database.CompleteNotificationAsync(notification.Id, Me, null, None)).Recorded);
        Assert.True(await Database.TryFinishLoadAsync(load, None));
    }
}
