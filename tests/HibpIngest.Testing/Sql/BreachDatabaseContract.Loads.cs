namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Starting_a_load_is_idempotent()
    {
        var started = await StartAsync();
        Time.Advance(Lease);
        var again = await OpenAnother().StartLoadAsync(
            "Adobe", new BreachMetadata { Title = "not looked at" }, Blob(), Settings with { DedupeCap = 2 }, "not recorded", None);
        Assert.Equal(started.Id, again.Id);
        Assert.Equal(LoadState.Ingesting, again.State);
        Assert.Equal(Settings, again.Settings);
        Assert.Equal(Blob(), again.Blob);
        Assert.Equal(Now - Lease, again.StartedAt);
        Assert.Equal(0, again.Mark);
        Assert.Equal(0, again.LastPosition);
        Assert.Null(again.LeaseExpiresAt);
        Assert.Equal("Adobe", (await Database.GetBreachAsync("Adobe", None))!.Metadata.Title);
        var newVersion = await StartAsync(blob: Blob(etag: "\"0x2\""));
        Assert.NotEqual(started.Id, newVersion.Id);
        Assert.Equal([started.Id, newVersion.Id], (await Database.ListLoadsAsync("ADOBE", None)).Select(load => load.Id));
        Assert.Empty(await Database.ListLoadsAsync("Ado", None));
    }

    [Fact]
    public async Task Load_that_could_not_start_is_recorded_as_failed_and_can_resume()
    {
        var failed = await Database.StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, "not a zip\r\nat all", None);
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Equal("not a zip at all", failed.Error);
        Assert.Equal(Now, failed.FinishedAt);
        Assert.NotNull(await Database.GetBreachAsync("Adobe", None));
        Assert.Equal(LoadState.Ingesting, await Database.ResumeLoadAsync(failed.Id, None));
        var resumed = (await Database.GetLoadAsync(failed.Id, None))!;
        Assert.Null(resumed.Error);
        Assert.Null(resumed.FinishedAt);
    }

    [Fact]
    public async Task New_load_keeps_the_metadata_of_an_existing_breach()
    {
        await StartAsync();
        await Database.StartLoadAsync("ADOBE", new BreachMetadata { Title = "bad" }, Blob("Adobe.2.zip"), Settings, "bad metadata", None);
        await Database.StartLoadAsync("ADOBE", new BreachMetadata { Title = "good" }, Blob("Adobe.3.zip"), Settings, null, None);
        var breach = (await Database.GetBreachAsync("adobe", None))!;
        Assert.Equal("Adobe", breach.Metadata.Title);
        Assert.Equal("Adobe", breach.Name);
    }

    [Fact]
    public async Task Load_has_one_owner_until_its_lease_expires()
    {
        var load = await StartAsync();
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        Assert.Equal(Now + Lease, (await Database.GetLoadAsync(load.Id, None))!.LeaseExpiresAt);
        Time.Advance(Lease / 2);
        Assert.True(await Database.RenewLoadAsync(load.Id, Me, Lease, None));
        Assert.False(await Database.RenewLoadAsync(load.Id, Other, Lease, None));
        Time.Advance(Lease - TimeSpan.FromMilliseconds(1));
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Null((await Database.GetLoadAsync(load.Id, None))!.LeaseExpiresAt);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        Assert.False(await Database.RenewLoadAsync(load.Id, Me, Lease, None));
        await Database.ReleaseLoadAsync(load.Id, Me, None);
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        await Database.ReleaseLoadAsync(load.Id, Other, None);
        Assert.Null((await Database.GetLoadAsync(load.Id, None))!.LeaseExpiresAt);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        await Database.FailLoadAsync(load.Id, "no", None);
        Assert.False(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
    }

    [Fact]
    public async Task Concurrent_claims_of_a_load_have_one_winner()
    {
        var load = await StartAsync();
        var another = OpenAnother();
        var taken = await Task.WhenAll(Enumerable.Range(0, 16).Select(i =>
            Task.Run(() => (i % 2 == 0 ? Database : another).TryClaimLoadAsync(load.Id, $"owner {i}", Lease, None))));
        Assert.Single(taken, won => won);
    }

    [Fact]
    public async Task A_batch_commits_rows_checkpoint_lease_and_slices()
    {
        var load = await StartAsync();
        await Database.TryClaimLoadAsync(load.Id, Me, Lease, None);
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
        Assert.Equal(slices, await Database.ListSlicesAsync(load.Id, failedOnly: false, None));

        var more = await Database.CommitBatchAsync(
            load.Id, Me, Batch(8, "a@example.org", "b@example.org"), SliceRows, checkpoint with { EntryFirstPosition = 6 },
            duplicatesPossible: true, Lease, None);
        Assert.Equal([(4, 8L, 9L)], more.Select(slice => (slice.Number, slice.First, slice.Last)));

        var committed = (await Database.GetLoadAsync(load.Id, None))!;
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
    }

    [Fact]
    public async Task Commit_that_outlasts_the_lease_renews_it_in_full()
    {
        var load = await StartAsync();
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Me, Lease, None));
        // The transaction begins, and takes as long.
        Time.OnRead = () =>
        {
            Time.OnRead = null;
            Time.Advance(Lease);
        };
        await Database.CommitBatchAsync(load.Id, Me, Batch(1, Numbered(4)), SliceRows, new LoadCheckpoint(), false, Lease, None);
        Assert.Null(Time.OnRead);
        Assert.Equal(Now + Lease, (await Database.GetLoadAsync(load.Id, None))!.LeaseExpiresAt);
    }

    [Fact]
    public async Task Reading_rows_returns_only_those_of_the_load()
    {
        var first = await IngestAsync(["a@example.com"]);
        var second = await IngestAsync(["b@example.com", "c@example.com"], "Bold");
        var read = new AccountBatch(10);
        await Database.ReadRowsAsync(first.Id, 1, 100, read, None);
        Assert.Equal(["a@example.com"], Accounts(read));
        await Database.ReadRowsAsync(second.Id, 0, 100, read, None);
        Assert.Equal(["b@example.com", "c@example.com"], Accounts(read));
    }

    [Fact]
    public async Task Longest_account_is_read_back_unchanged()
    {
        var longest = $"{new string('a', 64)}@{string.Join('.', Enumerable.Repeat(new string('b', 37), 5))}";
        var load = await IngestAsync([longest]);
        var read = new AccountBatch(1);
        await Database.ReadRowsAsync(load.Id, 1, 1, read, None);
        Assert.Equal([longest], Accounts(read));
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
        await Database.CommitBatchAsync(load.Id, Other, Batch(5, "x@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None);
        await Database.FinishIngestAsync(load.Id, Other, new LoadCheckpoint(), None);
        Assert.Equal(5, await CountAsync("rows"));
        await LostAsync(Other, 6);

        async Task LostAsync(string owner, long first)
        {
            var rows = await CountAsync("rows");
            var slices = await CountAsync("slices");
            var before = await Database.GetLoadAsync(load.Id, None);
            await Assert.ThrowsAsync<LoadLostException>(() => Database.CommitBatchAsync(
                load.Id, owner, Batch(first, "x@example.com"), SliceRows, new LoadCheckpoint { BlobBytes = 99 }, true, Lease, None));
            Assert.Equal(rows, await CountAsync("rows"));
            Assert.Equal(slices, await CountAsync("slices"));
            AssertSame(before, await Database.GetLoadAsync(load.Id, None));
        }
    }

    [Fact]
    public async Task Commit_that_fails_midway_writes_nothing_and_can_be_retried()
    {
        var load = await StartAsync();
        await Database.TryClaimLoadAsync(load.Id, Me, Lease, None);
        foreach (var table in new[] { "rows", "slices" })
        {
            await FailInsertsAsync(table);
            await Assert.ThrowsAnyAsync<Exception>(() => CommitAsync(None));
            await RepairInsertsAsync(table);
            await NothingAsync();
        }
        await CommitAsync(None);
        Assert.Equal(10, await CountAsync("rows"));
        Assert.Equal(4, await CountAsync("slices"));

        Task CommitAsync(CancellationToken cancellationToken) =>
            Database.CommitBatchAsync(
                load.Id, Me, Batch(1, Numbered(10)), SliceRows, new LoadCheckpoint(), false, Lease, cancellationToken);

        async Task NothingAsync()
        {
            Assert.Equal(0, await CountAsync("rows"));
            Assert.Equal(0, await CountAsync("slices"));
            var left = (await Database.GetLoadAsync(load.Id, None))!;
            Assert.Equal((0, 0, 0), (left.LastPosition, left.Batches, left.Mark));
        }
    }

    [Fact]
    public async Task Commit_cancelled_midway_writes_nothing_and_can_be_retried()
    {
        var load = await StartAsync();
        await Database.TryClaimLoadAsync(load.Id, Me, Lease, None);
        using var cancellation = new CancellationTokenSource();
        // The clock is read for the lease, within the transaction.
        Time.OnRead = cancellation.Cancel;
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => CommitAsync(cancellation.Token));
        Time.OnRead = null;
        Assert.Equal(0, await CountAsync("rows"));
        Assert.Equal(0, (await Database.GetLoadAsync(load.Id, None))!.LastPosition);
        await CommitAsync(None);
        Assert.Equal(10, await CountAsync("rows"));

        Task CommitAsync(CancellationToken cancellationToken) =>
            Database.CommitBatchAsync(
                load.Id, Me, Batch(1, Numbered(10)), SliceRows, new LoadCheckpoint(), false, Lease, cancellationToken);
    }

    [Fact]
    public async Task An_empty_batch_is_refused()
    {
        var load = await StartAsync();
        await Database.TryClaimLoadAsync(load.Id, Me, Lease, None);
        await Assert.ThrowsAsync<ArgumentException>(
            () => Database.CommitBatchAsync(load.Id, Me, Batch(1), SliceRows, new LoadCheckpoint(), false, Lease, None));
    }

    [Fact]
    public async Task DuplicatesPossible_stays_set_after_a_later_batch()
    {
        var load = await IngestAsync(["a@example.com"], duplicatesPossible: true);
        await Database.CommitBatchAsync(load.Id, Me, Batch(2, "a@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None);
        Assert.True((await Database.GetLoadAsync(load.Id, None))!.DuplicatesPossible);
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
        Assert.Equal(7, (await Database.GetLoadAsync(first.Id, None))!.Mark);
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
    public async Task Concurrent_starts_of_a_blob_create_one_load()
    {
        var another = OpenAnother();
        var started = await Task.WhenAll(Enumerable.Range(0, 8).Select(i => Task.Run(() =>
            (i % 2 == 0 ? Database : another).StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, failure: null, None))));
        Assert.Single(started.Select(load => load.Id).Distinct());
        Assert.Single(await Database.ListLoadsAsync(null, None));
        Assert.Single(await Database.ListBreachesAsync(None));
    }

    [Fact]
    public async Task Finishing_ingest_requires_the_lease()
    {
        var load = await IngestAsync(Numbered(4));
        await Assert.ThrowsAsync<LoadLostException>(() => Database.FinishIngestAsync(load.Id, Other, new LoadCheckpoint(), None));
        Time.Advance(TimeSpan.FromSeconds(5));
        await Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint { BlobBytes = 5 }, None);
        var finished = (await Database.GetLoadAsync(load.Id, None))!;
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
        var failed = (await Database.GetLoadAsync(load.Id, None))!;
        Assert.Equal((LoadState.Failed, "bad CRC", Now, null), (failed.State, failed.Error, failed.FinishedAt, failed.LeaseExpiresAt));
        await Assert.ThrowsAsync<LoadLostException>(
            () => Database.CommitBatchAsync(load.Id, Me, Batch(5, "x@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None));

        Assert.Equal(LoadState.Ingesting, await Database.ResumeLoadAsync(load.Id, None));
        var resumed = (await Database.GetLoadAsync(load.Id, None))!;
        Assert.Equal((4, 1, new SliceCounts(1, 0, 1, 0)), (resumed.LastPosition, resumed.Batches, resumed.Slices));
        Assert.True(await Database.TryClaimLoadAsync(load.Id, Other, Lease, None));
        await Database.CommitBatchAsync(load.Id, Other, Batch(5, "x@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None);
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
        var slice = (await Database.ListSlicesAsync(load.Id, false, None))[1];
        Assert.Equal((SliceState.Pending, 0, null), (slice.State, slice.Attempts, slice.Error));
        await CompleteSlicesAsync(load.Id);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.True(await Database.MatchRowsAsync(load.Id, 0, 2, None));
        await FailAndResumeAsync(LoadState.Matching);
        Assert.Equal(2, (await Database.GetLoadAsync(load.Id, None))!.MatchedPosition);
        Assert.True(await Database.MatchRowsAsync(load.Id, 2, 4, None));
        Assert.Equal(LoadState.Held, await Database.FinishMatchingAsync(load.Id, hold: true, suppress: false, None));
        await FailAndResumeAsync(LoadState.Held);
        await Database.ReleaseLoadNotificationsAsync(load.Id, None);
        await FailAndResumeAsync(LoadState.Notifying);
        var (claimed, _) = await Database.ClaimNotificationsAsync(load.Id, 1, 10, Me, Lease, None);
        await Database.CompleteNotificationAsync(Assert.Single(claimed).Id, Me, null, None);
        Assert.True(await Database.TryFinishLoadAsync(load.Id, None));
        await Database.FailLoadAsync(load.Id, "too late", None);
        var done = (await Database.GetLoadAsync(load.Id, None))!;
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
        await Assert.ThrowsAsync<LoadLostException>(
            () => Database.CommitBatchAsync(load.Id, Me, Batch(5, "x@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None));
        await Database.FailLoadAsync(load.Id, "lost", None);
        Assert.Equal($"restarted as load {restarted.Id}", (await Database.GetLoadAsync(load.Id, None))!.Error);
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
        Assert.False((await Database.GetLoadAsync(load.Id, None))!.Purged);
        Assert.Equal(2, await Database.PurgeRowsAsync(load.Id, 5, None));
        Assert.Equal(0, await Database.PurgeRowsAsync(load.Id, 5, None));
        Assert.True((await Database.GetLoadAsync(load.Id, None))!.Purged);
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

    /// <summary>Asserts equality by content, because records compare lists by reference.</summary>
    private static void AssertSame(Load? expected, Load? found) => Assert.Equivalent(expected, found, strict: true);
}
