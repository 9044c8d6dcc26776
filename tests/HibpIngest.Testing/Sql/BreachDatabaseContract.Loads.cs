namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Starting_a_load_is_idempotent_and_keeps_the_metadata_of_an_existing_breach()
    {
        var started = await StartAsync();
        Time.Advance(Lease);
        var again = await OpenAnother().StartLoadAsync(
            "Adobe", new BreachMetadata { Title = "not looked at" }, Blob(), Settings with { DedupeCap = 2 }, "not recorded", None);
        Assert.Equal((started.Id, LoadState.Ingesting, Settings, Blob()), (again.Id, again.State, again.Settings, again.Blob));
        Assert.Equal((Now - Lease, 0, 0, null), (again.StartedAt, again.Mark, again.LastPosition, again.LeaseExpiresAt));
        Assert.Equal("Adobe", (await BreachAsync()).Metadata.Title);
        var newVersion = await StartAsync(blob: Blob(etag: "\"0x2\""));
        Assert.NotEqual(started.Id, newVersion.Id);
        Assert.Equal([started.Id, newVersion.Id], (await Database.ListLoadsAsync("ADOBE", None)).Select(load => load.Id));
        Assert.Empty(await Database.ListLoadsAsync("Ado", None));
        await Database.StartLoadAsync("ADOBE", new BreachMetadata { Title = "bad" }, Blob("Adobe.2.zip"), Settings, "bad metadata", None);
        await Database.StartLoadAsync("ADOBE", new BreachMetadata { Title = "good" }, Blob("Adobe.3.zip"), Settings, null, None);
        var breach = await BreachAsync("adobe");
        Assert.Equal(("Adobe", "Adobe"), (breach.Metadata.Title, breach.Name));
    }

    [Fact]
    public async Task Load_that_could_not_start_is_recorded_as_failed_and_can_resume()
    {
        var failed = await Database.StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, "not a zip\r\nat all", None);
        Assert.Equal((LoadState.Failed, "not a zip at all", Now), (failed.State, failed.Error, failed.FinishedAt));
        Assert.NotNull(await Database.GetBreachAsync("Adobe", None));
        Assert.Equal(LoadState.Ingesting, await Database.ResumeLoadAsync(failed.Id, None));
        var resumed = await LoadAsync(failed.Id);
        Assert.Equal((null, null), (resumed.Error, resumed.FinishedAt));
    }

    [Fact]
    public async Task Load_has_one_owner_until_its_lease_expires()
    {
        var load = await ClaimAsync();
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        Assert.Equal(Now + Lease, (await LoadAsync(load.Id)).LeaseExpiresAt);
        Time.Advance(Lease / 2);
        Assert.True(await Database.RenewLoadAsync(load.Id, Me, Lease, None));
        Assert.False(await Database.RenewLoadAsync(load.Id, Other, Lease, None));
        Time.Advance(Lease - TimeSpan.FromMilliseconds(1));
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Null((await LoadAsync(load.Id)).LeaseExpiresAt);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        Assert.False(await Database.RenewLoadAsync(load.Id, Me, Lease, None));
        await Database.ReleaseLoadAsync(load.Id, Me, None);
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        await Database.ReleaseLoadAsync(load.Id, Other, None);
        Assert.Null((await LoadAsync(load.Id)).LeaseExpiresAt);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        await Database.FailLoadAsync(load.Id, "no", None);
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
    }

    [Fact]
    public async Task Concurrent_starts_of_a_blob_create_one_load_and_concurrent_claims_have_one_winner()
    {
        var started = await ConcurrentlyAsync(
            8, (database, _) => database.StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, failure: null, None));
        var load = Assert.Single(started.Select(one => one.Id).Distinct());
        Assert.Single(await Database.ListLoadsAsync(null, None));
        Assert.Single(await Database.ListBreachesAsync(None));
        var taken = await ConcurrentlyAsync(16, (database, i) => database.TryClaimLoadAsync(load, $"owner {i}", Lease, None));
        Assert.Single(taken, won => won);
    }

    [Fact]
    public async Task A_batch_commits_rows_checkpoint_lease_and_slices()
    {
        var load = await ClaimAsync();
        Time.Advance(Lease / 2);
        var accounts = Numbered(7);
        var checkpoint = new LoadCheckpoint
        {
            Entry = new ArchivePosition(3, 1L << 41, 5),
            EntryFirstPosition = 2,
            Rejected = new RejectionCounts { ByRule = [1, 2, 3, 4, 5, 6, 7, 8], Duplicates = 9 },
            BlobBytesRead = 10,
            BlobBytes = 11,
        };
        var slices = await Database.CommitBatchAsync(
            load.Id, Me, Batch(1, accounts), SliceRows, checkpoint, duplicatesPossible: false, Lease, None);
        Assert.Equal(
            [(1, 1L, 3L, 3), (2, 4L, 6L, 3), (3, 7L, 7L, 1)], slices.Select(slice => (slice.Number, slice.First, slice.Last, slice.Count)));
        Assert.All(slices, slice => Assert.Equal((load.Id, SliceState.Pending, 0), (slice.Load, slice.State, slice.Attempts)));
        Assert.Equal(slices, await SlicesAsync(load.Id));

        var more = await Database.CommitBatchAsync(
            load.Id, Me, Batch(8, "a@example.org", "b@example.org"), SliceRows, checkpoint with { EntryFirstPosition = 6 },
            duplicatesPossible: true, Lease, None);
        Assert.Equal([(4, 8L, 9L)], more.Select(slice => (slice.Number, slice.First, slice.Last)));

        var committed = await LoadAsync(load.Id);
        Assert.Equal((9, 9, 2, true), (committed.Accounts, committed.LastPosition, committed.Batches, committed.DuplicatesPossible));
        Assert.Equal(Now + Lease, committed.LeaseExpiresAt);
        Assert.Equal(new SliceCounts(4, 0, 0, 0), committed.Slices);
        Assert.Equal(6, committed.Checkpoint.EntryFirstPosition);
        Assert.Equal(
            (checkpoint.Entry, 10, 11), (committed.Checkpoint.Entry, committed.Checkpoint.BlobBytesRead, committed.Checkpoint.BlobBytes));
        Assert.Equal(checkpoint.Rejected.ByRule, committed.Checkpoint.Rejected.ByRule);
        Assert.Equal(9, committed.Checkpoint.Rejected.Duplicates);

        var read = new AccountBatch(20);
        read.Add("left"u8, "over.example"u8);
        await Database.ReadRowsAsync(load.Id, 1, 9, read, None);
        Assert.Equal([.. accounts, "a@example.org", "b@example.org"], Accounts(read));
        Assert.Equal(1, read.FirstPosition);
        await Database.ReadRowsAsync(load.Id, 6, 8, read, None);
        Assert.Equal(["user6@example.com", "user7@example.com", "a@example.org"], Accounts(read));
        Assert.Equal(6, read.FirstPosition);
        var small = new AccountBatch(2);
        await Database.ReadRowsAsync(load.Id, 2, 9, small, None);
        Assert.Equal(["user2@example.com", "user3@example.com"], Accounts(small));

        await CommitAsync(load.Id, Me, Batch(10, "a@example.org"));
        Assert.True((await LoadAsync(load.Id)).DuplicatesPossible);
    }

    [Fact]
    public async Task Commit_that_outlasts_the_lease_renews_it_in_full()
    {
        var load = await ClaimAsync();
        // The transaction begins, and takes as long.
        Time.OnRead = () =>
        {
            Time.OnRead = null;
            Time.Advance(Lease);
        };
        await CommitAsync(load.Id, Me, Batch(1, Numbered(4)));
        Assert.Null(Time.OnRead);
        Assert.Equal(Now + Lease, (await LoadAsync(load.Id)).LeaseExpiresAt);
    }

    [Fact]
    public async Task Reading_rows_returns_only_those_of_the_load()
    {
        var longest = $"{new string('a', 64)}@{string.Join('.', Enumerable.Repeat(new string('b', 37), 5))}";
        var first = await IngestAsync([longest]);
        var second = await IngestAsync(["b@example.com", "c@example.com"], "Bold");
        var read = new AccountBatch(10);
        await Database.ReadRowsAsync(first.Id, 1, 100, read, None);
        Assert.Equal([longest], Accounts(read));
        await Database.ReadRowsAsync(second.Id, 0, 100, read, None);
        Assert.Equal(["b@example.com", "c@example.com"], Accounts(read));
    }

    [Fact]
    public async Task Commit_by_another_owner_or_at_a_wrong_position_or_state_writes_nothing()
    {
        var load = await IngestAsync(Numbered(4));
        await LostAsync(Other, 5);
        await LostAsync(Me, 1);
        await LostAsync(Me, 6);
        Time.Advance(Lease);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        await LostAsync(Me, 5);
        await CommitAsync(load.Id, Other, Batch(5, "x@example.com"));
        await Database.FinishIngestAsync(load.Id, Other, new LoadCheckpoint(), None);
        Assert.Equal(5, await CountAsync("rows"));
        await LostAsync(Other, 6);

        async Task LostAsync(string owner, long first)
        {
            var written = (await CountAsync("rows"), await CountAsync("slices"));
            var before = await LoadAsync(load.Id);
            await Assert.ThrowsAsync<LoadLostException>(() => Database.CommitBatchAsync(
                load.Id, owner, Batch(first, "x@example.com"), SliceRows, new LoadCheckpoint { BlobBytes = 99 }, true, Lease, None));
            Assert.Equal(written, (await CountAsync("rows"), await CountAsync("slices")));
            Assert.Equivalent(before, await LoadAsync(load.Id), strict: true);
        }
    }

    [Fact]
    public async Task Failed_cancelled_or_empty_commit_writes_nothing_and_can_be_retried()
    {
        var load = await ClaimAsync();
        await Assert.ThrowsAsync<ArgumentException>(() => CommitAsync(load.Id, Me, Batch(1)));
        await NothingAsync();
        foreach (var table in new[] { "rows", "slices" })
        {
            await FailInsertsAsync(table);
            await Assert.ThrowsAnyAsync<Exception>(() => CommitAsync(load.Id, Me, Batch(1, Numbered(10))));
            await RepairInsertsAsync(table);
            await NothingAsync();
        }
        using var cancellation = new CancellationTokenSource();
        // The clock is read for the lease, within the transaction.
        Time.OnRead = cancellation.Cancel;
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => CommitAsync(load.Id, Me, Batch(1, Numbered(10)), cancellation.Token));
        Time.OnRead = null;
        await NothingAsync();
        await CommitAsync(load.Id, Me, Batch(1, Numbered(10)));
        Assert.Equal((10, 4), (await CountAsync("rows"), await CountAsync("slices")));

        async Task NothingAsync()
        {
            var left = await LoadAsync(load.Id);
            Assert.Equal(
                (0, 0, 0, 0, 0), (await CountAsync("rows"), await CountAsync("slices"), left.LastPosition, left.Batches, left.Mark));
        }
    }

    [Fact]
    public async Task First_batch_assigns_the_mark_and_later_batches_keep_it()
    {
        var first = await StartAsync();
        Assert.Equal(0, first.Mark);
        Assert.True(await Database.TryClaimLoadAsync(first.Id, Me, Lease, None));
        await using (var copy = await Database.OpenCopyAsync(new BatchCopyOrder(first.Id, Me, 7, SliceRows, Lease), None))
            await copy.CommitAsync(Batch(1, "a@example.com"), new LoadCheckpoint(), false, None);
        await using (var copy = await Database.OpenCopyAsync(new BatchCopyOrder(first.Id, Me, 8, SliceRows, Lease), None))
            await copy.CommitAsync(Batch(2, "b@example.com"), new LoadCheckpoint(), false, None);
        Assert.Equal(7, (await LoadAsync(first.Id)).Mark);
        Assert.Equal(7, (await Database.BeginSliceAsync(first.Id, 2, 5, None))!.Mark);
        Assert.Equal((first.Id.Value, 7), await HighestAsync());
        var second = await StartAsync(blob: Blob("Adobe.2.zip"));
        Assert.Equal((second.Id.Value, 7), await HighestAsync());
        Assert.Equal(0, (await Database.GetLoadHeadAsync(second.Id, None))!.Mark);
    }

    [Fact]
    public async Task Highest_ids_outlive_their_removed_loads()
    {
        var load = await IngestAsync(["a@example.com"]);
        Assert.Equal((load.Id.Value, (int)load.Id.Value), await HighestAsync());
        await Database.FailLoadAsync(load.Id, "no", None);
        await Database.RemoveBreachAsync("Adobe", None);
        Assert.Equal((load.Id.Value, (int)load.Id.Value), await HighestAsync());
        await Database.MoveOnAsync(new StoreIds(1, 1), "nothing to raise", None);
        Assert.Equal((load.Id.Value, (int)load.Id.Value), await HighestAsync());
        await Database.MoveOnAsync(new StoreIds(load.Id.Value + 3, (int)load.Id.Value + 5), "restored", None);
        Assert.Equal((load.Id.Value + 3, (int)load.Id.Value + 5), await HighestAsync());
    }

    private async Task<(long Load, int Mark)> HighestAsync() =>
        await Database.GetHighestIdsAsync(None) is var ids ? (ids.Load, ids.Mark) : default;

    [Fact]
    public async Task Finishing_ingest_requires_the_lease()
    {
        var load = await IngestAsync(Numbered(4));
        await Assert.ThrowsAsync<LoadLostException>(() => Database.FinishIngestAsync(load.Id, Other, new LoadCheckpoint(), None));
        Time.Advance(TimeSpan.FromSeconds(5));
        await Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint { BlobBytes = 5 }, None);
        var finished = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Upserting, true, 5), (finished.State, finished.IngestComplete, finished.Checkpoint.BlobBytes));
        Assert.Equal(Now, finished.IngestedAt);
        Assert.Null(finished.LeaseExpiresAt);
        await Assert.ThrowsAsync<LoadLostException>(() => Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint(), None));
    }

    [Fact]
    public async Task Failed_ingest_resumes_after_its_last_batch()
    {
        var load = await IngestAsync(Numbered(4));
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        await Database.FailSliceAsync(load.Id, 2, "broken", exhausted: true, None);
        await Database.FailLoadAsync(load.Id, "bad CRC", None);
        var failed = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Failed, "bad CRC", Now, null), (failed.State, failed.Error, failed.FinishedAt, failed.LeaseExpiresAt));
        await Assert.ThrowsAsync<LoadLostException>(() => CommitAsync(load.Id, Me, Batch(5, "x@example.com")));

        Assert.Equal(LoadState.Ingesting, await Database.ResumeLoadAsync(load.Id, None));
        var resumed = await LoadAsync(load.Id);
        Assert.Equal((4, 1, new SliceCounts(1, 0, 1, 0)), (resumed.LastPosition, resumed.Batches, resumed.Slices));
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        await CommitAsync(load.Id, Other, Batch(5, "x@example.com"));
        Assert.Equal(5, await CountAsync("rows"));
    }

    [Fact]
    public async Task Failed_load_resumes_in_the_state_it_failed_in()
    {
        await ImportAsync("user1@example.com");
        var load = await IngestAllAsync(Numbered(4));
        await FailAndResumeAsync(LoadState.Upserting);
        await Database.BeginSliceAsync(load.Id, 2, 1, None);
        await Database.FailSliceAsync(load.Id, 2, "broken", exhausted: true, None);
        await FailAndResumeAsync(LoadState.Upserting);
        var slice = (await SlicesAsync(load.Id))[1];
        Assert.Equal((SliceState.Pending, 0, null), (slice.State, slice.Attempts, slice.Error));
        await CompleteSlicesAsync(load.Id);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.True(await Database.MatchRowsAsync(load.Id, 0, 2, None));
        await FailAndResumeAsync(LoadState.Matching);
        Assert.Equal(2, (await LoadAsync(load.Id)).MatchedPosition);
        Assert.True(await Database.MatchRowsAsync(load.Id, 2, 4, None));
        Assert.Equal(LoadState.Held, await Database.FinishMatchingAsync(load.Id, hold: true, suppress: false, None));
        await FailAndResumeAsync(LoadState.Held);
        await Database.ReleaseLoadNotificationsAsync(load.Id, None);
        await FailAndResumeAsync(LoadState.Notifying);
        var claimed = await ClaimedAsync(load.Id, 1, 10);
        await Database.CompleteNotificationAsync(Assert.Single(claimed).Id, Me, null, None);
        Assert.True(await Database.TryFinishLoadAsync(load.Id, None));
        await Database.FailLoadAsync(load.Id, "too late", None);
        var done = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Done, null), (done.State, done.Error));
        Assert.Equal(LoadState.Done, await Database.ResumeLoadAsync(load.Id, None));

        async Task FailAndResumeAsync(LoadState state)
        {
            await Database.FailLoadAsync(load.Id, "a fault", None);
            Assert.Equal(LoadState.Failed, await StateAsync(load.Id));
            Assert.Equal(state, await Database.ResumeLoadAsync(load.Id, None));
            Assert.Equal(state, await Database.ResumeLoadAsync(load.Id, None));
        }
    }

    [Fact]
    public async Task A_restarted_load_stays_failed_and_names_its_successor()
    {
        var load = await IngestAsync(Numbered(4));
        var restarted = await Database.RestartLoadAsync(load.Id, Settings with { ExtractorVersion = 2 }, None);
        Assert.Equal(
            (LoadState.Ingesting, load.Blob, 2, 0),
            (restarted.State, restarted.Blob, restarted.Settings.ExtractorVersion, restarted.LastPosition));
        Assert.Equal(LoadState.Failed, await StateAsync(load.Id));
        await Assert.ThrowsAsync<LoadLostException>(() => CommitAsync(load.Id, Me, Batch(5, "x@example.com")));
        await Database.FailLoadAsync(load.Id, "lost", None);
        Assert.Equal($"restarted as load {restarted.Id}", (await LoadAsync(load.Id)).Error);
        Assert.Equal(restarted.Id, (await StartAsync()).Id);
        var refused = await RefusedAsync(() => Database.ResumeLoadAsync(load.Id, None));
        Assert.Contains($"load {restarted.Id}", refused.Message, StringComparison.Ordinal);
        await RefusedAsync(() => Database.RestartLoadAsync(load.Id, Settings, None));
        await RefusedAsync(() => Database.RequeueSlicesAsync(load.Id, 1, false, None));
        Assert.Empty(await Database.RequeueSlicesAsync(load.Id, null, false, None));
        Assert.Empty(await Database.ListPendingSlicesAsync(TimeSpan.Zero, 10, None));
        Assert.Equal(4, await Database.PurgeRowsAsync(load.Id, 10, None));
        await Database.FailLoadAsync(restarted.Id, "again", None);
        var third = await Database.RestartLoadAsync(restarted.Id, Settings, None);
        Assert.Equal(third.Id, (await StartAsync()).Id);
    }

    [Fact]
    public async Task A_load_that_is_done_or_unknown_is_not_restarted()
    {
        var load = await UpsertAsync(Numbered(4));
        Assert.Equal(LoadState.Done, await MatchAsync(load.Id));
        await RefusedAsync(() => Database.RestartLoadAsync(load.Id, Settings, None));
        await RefusedAsync(() => Database.RestartLoadAsync(new(999), Settings, None));
        await RefusedAsync(() => Database.ResumeLoadAsync(new(999), None));
        Assert.Null(await Database.GetLoadAsync(new(999), None));
    }

    [Fact]
    public async Task Purge_deletes_the_rows_of_a_finished_load_in_chunks()
    {
        var other = await IngestAsync(["a@example.com"], "Bold");
        var load = await IngestAsync(Numbered(7));
        await RefusedAsync(() => Database.PurgeRowsAsync(load.Id, 5, None));
        await RefusedAsync(() => Database.PurgeRowsAsync(new(999), 5, None));
        await Database.FailLoadAsync(load.Id, "no", None);
        Assert.Equal(5, await Database.PurgeRowsAsync(load.Id, 5, None));
        // Half of the rows are purged: the load must not resume from here.
        await RefusedAsync(() => Database.ResumeLoadAsync(load.Id, None));
        Assert.Null(await Database.BeginSliceAsync(load.Id, 3, 5, None));
        Assert.False((await LoadAsync(load.Id)).Purged);
        Assert.Equal(2, await Database.PurgeRowsAsync(load.Id, 5, None));
        Assert.Equal(0, await Database.PurgeRowsAsync(load.Id, 5, None));
        Assert.True((await LoadAsync(load.Id)).Purged);
        Assert.Equal(0, await Database.PurgeRowsAsync(load.Id, 5, None));
        Assert.Equal(1, await CountAsync("rows"));
        var refused = await RefusedAsync(() => Database.ResumeLoadAsync(load.Id, None));
        Assert.Contains("purged", refused.Message, StringComparison.Ordinal);
        await RefusedAsync(() => Database.RequeueSlicesAsync(load.Id, null, false, None));
        Assert.Null(await Database.BeginSliceAsync(load.Id, 1, 5, None));
        Assert.All(await Database.ListPendingSlicesAsync(TimeSpan.Zero, 10, None), slice => Assert.Equal(other.Id, slice.Load));
    }

    [Fact]
    public async Task Passwords_are_stored_per_blob_version()
    {
        var (first, second, other) = (Blob("a.zip"), Blob("a.zip", "\"0x2\""), Blob("b.zip"));
        Assert.Null(await Database.GetPasswordAsync(first, None));
        await Database.PutPasswordAsync(first, [1, 2, 0, 255], None);
        await Database.PutPasswordAsync(second, [5], None);
        await Database.PutPasswordAsync(other, [3], None);
        Assert.Equal([1, 2, 0, 255], await Database.GetPasswordAsync(first, None));
        await Database.PutPasswordAsync(first, [4], None);
        Assert.Equal([4], await Database.GetPasswordAsync(first, None));
        await Database.DeletePasswordAsync(first, None);
        await Database.DeletePasswordAsync(first, None);
        Assert.Null(await Database.GetPasswordAsync(first, None));
        Assert.Equal([5], await Database.GetPasswordAsync(second, None));
        Assert.Equal([3], await Database.GetPasswordAsync(other, None));
    }
}
