namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private const int MaxTries = 3;
    private static readonly TimeSpan SliceLease = TimeSpan.FromSeconds(60);

    private Task<SliceWork?> BeginAsync(LoadId load, int slice, string owner = Me) =>
        Database.BeginSliceAsync(load, slice, owner, SliceLease, MaxTries, None);

    private Task<bool> RenewAsync(LoadId load, int slice, string owner, SliceProgress? progress) =>
        Database.RenewSliceAsync(load, slice, owner, SliceLease, progress, None);

    [Fact]
    public async Task Slice_attempt_is_counted_when_it_begins_and_refunded_with_an_error()
    {
        var load = await IngestAsync(Numbered(4));
        for (var attempt = 1; attempt <= MaxTries; attempt++)
        {
            var work = (await Database.BeginSliceAsync(load.Id, 2, MaxTries, None))!;
            Assert.Equal(
                (attempt, 4L, 4L, 1, "Adobe", (int)load.Id.Value),
                (work.Slice.Attempts, work.Slice.First, work.Slice.Last, work.Slice.Count, work.Breach, work.Mark));
        }
        Assert.Equal(MaxTries + 1, (await Database.BeginSliceAsync(load.Id, 2, MaxTries, None))!.Slice.Attempts);
        Assert.Equal(MaxTries + 1, (await Database.BeginSliceAsync(load.Id, 2, MaxTries, None))!.Slice.Attempts);
        Assert.Equal([0, MaxTries], (await SlicesAsync(load.Id)).Select(slice => slice.Attempts));
        Assert.Null(await Database.BeginSliceAsync(load.Id, 3, MaxTries, None));
        Assert.Null(await Database.BeginSliceAsync(new(999), 1, MaxTries, None));

        await Database.RefundSliceAttemptAsync(load.Id, 1, "down", None);
        await Database.BeginSliceAsync(load.Id, 1, MaxTries, None);
        await Database.BeginSliceAsync(load.Id, 1, MaxTries, None);
        await Database.RefundSliceAttemptAsync(load.Id, 1, "down\nagain", None);
        var refunded = (await SlicesAsync(load.Id))[0];
        Assert.Equal((1, "down again", SliceState.Pending), (refunded.Attempts, refunded.Error, refunded.State));
    }

    [Fact]
    public async Task Leased_work_is_listed_until_completed_released_or_expired()
    {
        var load = await IngestAsync(Numbered(9));
        // The load's own lease is listed too, held by its ingester.
        var ingester = Assert.Single(await Database.ListLeasesAsync(None));
        Assert.Equal((load.Id, (int?)null), (ingester.Load, ingester.Slice));
        var now = Time.GetUtcNow();
        await BeginAsync(load.Id, 1, "host-a");
        await Database.BeginSliceAsync(load.Id, 2, "host-b", SliceLease * 2, MaxTries, None);
        var started = await Database.StartLoadAsync("Bold", new BreachMetadata(), Blob("Bold.zip"), Settings, null, None);
        Assert.True(await Database.TryClaimLoadAsync(started.Id, LoadState.Ingesting, "host-c", Lease, None));
        var held = (await Database.ListLeasesAsync(None)).Where(work => work.Owner != ingester.Owner)
            .OrderBy(work => work.Owner, StringComparer.Ordinal).ToList();
        Assert.Equal(
            [(load.Id, "Adobe", 1, "host-a"), (load.Id, "Adobe", 2, "host-b"), (started.Id, "Bold", (int?)null, "host-c")],
            held.Select(work => (work.Load, work.Breach, work.Slice, work.Owner)));
        Assert.True(await Database.HasLeasedSlicesAsync([started.Id, load.Id], None));
        Assert.False(await Database.HasLeasedSlicesAsync([started.Id], None));
        Assert.False(await Database.HasLeasedSlicesAsync([], None));
        Assert.Equal(
            [SliceLease, SliceLease * 2, Lease], held.Select(work => TimeSpan.FromSeconds(Math.Round((work.Until - now).TotalSeconds))));
        Assert.True(await Database.RenewSliceAsync(load.Id, 2, "host-b", SliceLease * 2, new SliceProgress(7, [0b0101, 0b0010]), None));
        Assert.True(await Database.CompleteSliceAsync(load.Id, 1, "host-a", 3, None));
        await BeginAsync(load.Id, 3, "host-d");
        await Database.RefundSliceAttemptAsync(load.Id, 3, "host-d", null, null, None);
        // Once the load is ingested, its ingester is no longer listed; its slices are.
        await Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint(), None);
        Assert.Equal(["host-b", "host-c"], (await Database.ListLeasesAsync(None)).Select(work => work.Owner).Order(StringComparer.Ordinal));
        Time.Advance((SliceLease * 2) - TimeSpan.FromMilliseconds(1));
        Assert.Equal(["host-b"], (await Database.ListLeasesAsync(None)).Where(work => work.Slice is not null).Select(work => work.Owner));
        Assert.True(await Database.HasLeasedSlicesAsync([load.Id], None));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.False(await Database.HasLeasedSlicesAsync([load.Id], None));
        Assert.Empty(await Database.ListLeasesAsync(None));
    }

    [Fact]
    public async Task Slice_times_run_from_the_start_of_an_attempt_to_its_end()
    {
        var load = await IngestAsync(Numbered(9));
        var committed = Now;
        Assert.Equal(Enumerable.Repeat(new SliceTimes(committed, null, null), 3), await TimesAsync());
        Time.Advance(SliceLease);
        var begun = Now;
        await BeginAsync(load.Id, 1, "host-a");
        await BeginAsync(load.Id, 2, "host-b");
        Time.Advance(SliceLease / 2);
        Assert.True(await RenewAsync(load.Id, 1, "host-a", new SliceProgress(7, [0b0101, 0b0010])));
        Assert.Equal(
            [new SliceTimes(committed, begun, null, 3.0 / 16), new SliceTimes(committed, begun, null)], (await TimesAsync()).Take(2));
        Assert.True(await Database.CompleteSliceAsync(load.Id, 1, "host-a", 3, None));
        var done = Now;
        // The second slice's worker has crashed.
        Time.Advance(SliceLease);
        Assert.Equal([new SliceTimes(committed, begun, done), new SliceTimes(committed, null, null)], (await TimesAsync()).Take(2));
        var again = Now;
        await BeginAsync(load.Id, 2, "host-c");
        Time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(await Database.CompleteSliceAsync(load.Id, 2, "host-c", 3, None));
        Assert.Equal(new SliceTimes(committed, again, Now), (await TimesAsync())[1]);
        // A load that doesn't exist is listed too.
        Assert.Equal([new(999), load.Id], (await Database.ListWorkAsync([new(999), load.Id], None)).Select(work => work.Load));

        async Task<IReadOnlyList<SliceTimes>> TimesAsync() => Assert.Single(await Database.ListWorkAsync([load.Id], None)).Slices;
    }

    [Fact]
    public async Task Done_slice_ignores_late_calls()
    {
        var load = await IngestAsync(Numbered(4));
        await Database.BeginSliceAsync(load.Id, 1, MaxTries, None);
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        Time.Advance(Lease);
        await Database.CompleteSliceAsync(load.Id, 1, 99, None);
        await Database.FailSliceAsync(load.Id, 1, "late", exhausted: true, None);
        await Database.RefundSliceAttemptAsync(load.Id, 1, "late", None);
        await Database.MarkSlicesQueuedAsync(load.Id, 1, 1, None);
        var work = (await Database.BeginSliceAsync(load.Id, 1, MaxTries, None))!;
        Assert.Equal(
            (SliceState.Done, 1, null, Now - Lease, null),
            (work.Slice.State, work.Slice.Attempts, work.Slice.Error, work.Slice.DoneAt, work.Slice.QueuedAt));
        var counted = await LoadAsync(load.Id);
        Assert.Equal((3, new SliceCounts(1, 0, 1, 0), LoadState.Ingesting), (counted.Entities, counted.Slices, counted.State));
    }

    [Fact]
    public async Task Slice_with_exhausted_attempts_fails_its_load()
    {
        var load = await IngestAsync(Numbered(4));
        await Database.FailSliceAsync(load.Id, 2, "once", exhausted: false, None);
        Assert.Equal(LoadState.Ingesting, await StateAsync(load.Id));
        await Database.FailSliceAsync(load.Id, 2, "bad row", exhausted: true, None);
        await Database.FailSliceAsync(load.Id, 1, "later", exhausted: true, None);
        var failed = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Failed, "slice 2: bad row", new SliceCounts(0, 0, 0, 2)), (failed.State, failed.Error, failed.Slices));
        Assert.Equal(Now, failed.FinishedAt);
        var work = (await Database.BeginSliceAsync(load.Id, 2, MaxTries, None))!;
        Assert.Equal((SliceState.Failed, 0, "bad row"), (work.Slice.State, work.Slice.Attempts, work.Slice.Error));
        Assert.Equal([1, 2], (await Database.ListSlicesAsync(load.Id, failedOnly: true, None)).Select(slice => slice.Number));

        // Completing its slices doesn't reopen a load that failed during the ingest.
        await CompleteSlicesAsync(load.Id);
        Assert.Equal(LoadState.Failed, await StateAsync(load.Id));
        Assert.Equal(LoadState.Ingesting, await Database.ResumeLoadAsync(load.Id, None));
    }

    [Fact]
    public async Task Completing_the_last_failed_slice_reopens_its_load()
    {
        var load = await IngestAllAsync(Numbered(9));
        await Database.FailSliceAsync(load.Id, 1, "bad", exhausted: true, None);
        await Database.FailSliceAsync(load.Id, 2, "bad", exhausted: true, None);
        await Database.CompleteSliceAsync(load.Id, 3, 3, None);
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        Assert.Equal(LoadState.Failed, await StateAsync(load.Id));
        await Database.CompleteSliceAsync(load.Id, 2, 3, None);
        var back = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Upserting, null, null), (back.State, back.Error, back.FinishedAt));
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
    }

    [Fact]
    public async Task Last_failed_slices_completing_concurrently_reopen_their_load()
    {
        var another = OpenAnother();
        for (var round = 0; round < 5; round++)
        {
            var load = await IngestAllAsync(Numbered(6), blob: Blob($"Adobe.{round}.zip"));
            await Database.FailSliceAsync(load.Id, 1, "bad", exhausted: true, None);
            await Database.FailSliceAsync(load.Id, 2, "bad", exhausted: true, None);
            await Task.WhenAll(
                Task.Run(() => Database.CompleteSliceAsync(load.Id, 1, 3, None)),
                Task.Run(() => another.CompleteSliceAsync(load.Id, 2, 3, None)));
            Assert.Equal(LoadState.Upserting, await StateAsync(load.Id));
        }
    }

    [Fact]
    public async Task MarkSlicesQueued_queues_slices_that_are_not_done()
    {
        var load = await IngestAsync(Numbered(12));
        await Database.CompleteSliceAsync(load.Id, 2, 3, None);
        await Database.MarkSlicesQueuedAsync(load.Id, 1, 3, None);
        Assert.Equal(
            [(SliceState.Queued, Now), (SliceState.Done, (DateTimeOffset?)null), (SliceState.Queued, Now), (SliceState.Pending, null)],
            (await SlicesAsync(load.Id)).Select(slice => (slice.State, slice.QueuedAt)));
        Time.Advance(Lease);
        await Database.MarkSlicesQueuedAsync(load.Id, 3, 3, None);
        Assert.Equal(Now, (await SlicesAsync(load.Id))[2].QueuedAt);
    }

    [Fact]
    public async Task Pending_slices_are_listed_by_age()
    {
        var age = TimeSpan.FromMinutes(2);
        var load = await IngestAsync(Numbered(9));
        await Database.MarkSlicesQueuedAsync(load.Id, 2, 2, None);
        Time.Advance(age - TimeSpan.FromMilliseconds(1));
        Assert.Empty(await Database.ListPendingSlicesAsync(age, 10, None));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal([1, 3], (await Database.ListPendingSlicesAsync(age, 10, None)).Select(slice => slice.Number));
        Assert.Equal([1], (await Database.ListPendingSlicesAsync(age, 1, None)).Select(slice => slice.Number));
        await Database.RequeueSlicesAsync(load.Id, 1, false, None);
        Assert.Equal([3], (await Database.ListPendingSlicesAsync(age, 10, None)).Select(slice => slice.Number));
        await Database.FailLoadAsync(load.Id, "no", None);
        Assert.Equal([3], (await Database.ListPendingSlicesAsync(age, 10, None)).Select(slice => slice.Number));
    }

    [Fact]
    public async Task Stale_queued_slices_of_open_loads_are_listed_by_age()
    {
        var age = TimeSpan.FromMinutes(25);
        var load = await IngestAsync(Numbered(9));
        var another = await IngestAsync(Numbered(3), "LinkedIn");
        await Database.MarkSlicesQueuedAsync(load.Id, 1, 2, None);
        Time.Advance(age - TimeSpan.FromMilliseconds(1));
        Assert.Empty(await Database.ListStaleSlicesAsync(age, 10, None));
        Assert.NotNull(await Database.BeginSliceAsync(another.Id, 1, MaxTries, None)); // work on another load has no effect on it
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal([1, 2], (await Database.ListStaleSlicesAsync(age, 10, None)).Select(slice => slice.Number));
        Assert.Equal([1], (await Database.ListStaleSlicesAsync(age, 1, None)).Select(slice => slice.Number));
        await Database.MarkSlicesQueuedAsync(load.Id, 1, 1, None);
        Assert.Equal([2], (await Database.ListStaleSlicesAsync(age, 10, None)).Select(slice => slice.Number));
        await Database.FailLoadAsync(load.Id, "no", None);
        Assert.Empty(await Database.ListStaleSlicesAsync(age, 10, None));
    }

    [Fact]
    public async Task Queued_slices_are_not_stale_while_any_slice_of_their_load_is_worked_on()
    {
        var age = TimeSpan.FromMinutes(20);
        var load = await IngestAsync(Numbered(9));
        await Database.MarkSlicesQueuedAsync(load.Id, 1, 3, None);
        Assert.NotNull(await BeginAsync(load.Id, 1));
        var calls = new Func<Task>[]
        {
            () => RenewAsync(load.Id, 1, Me, null),
            () => Database.RefundSliceAttemptAsync(load.Id, 1, Me, null, "down", None),
            () => BeginAsync(load.Id, 1),
            () => Database.FailSliceAsync(load.Id, 1, Me, "bad", exhausted: false, None),
            () => BeginAsync(load.Id, 1),
            () => Database.CompleteSliceAsync(load.Id, 1, Me, 3, None),
        };
        foreach (var call in calls)
        {
            Time.Advance(age - TimeSpan.FromMilliseconds(1));
            Assert.Empty(await Database.ListStaleSlicesAsync(age, 10, None));
            await call();
        }
        Time.Advance(age - TimeSpan.FromMilliseconds(1));
        Assert.Empty(await Database.ListStaleSlicesAsync(age, 10, None));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal([2, 3], (await Database.ListStaleSlicesAsync(age, 10, None)).Select(slice => slice.Number));
    }

    [Fact]
    public async Task Slice_has_one_owner_until_its_lease_expires()
    {
        var load = await IngestAsync(Numbered(4));
        Assert.Null((await BeginAsync(load.Id, 1))!.HeldUntil);
        var held = (await BeginAsync(load.Id, 1, Other))!;
        Assert.Equal((Now + SliceLease, 1), (held.HeldUntil, held.Slice.Attempts));

        // Calls by another owner have no effect.
        Assert.False(await RenewAsync(load.Id, 1, Other, null));
        Assert.False(await Database.CompleteSliceAsync(load.Id, 1, Other, 3, None));
        await Database.FailSliceAsync(load.Id, 1, Other, "bad", exhausted: true, None);
        await Database.RefundSliceAttemptAsync(load.Id, 1, Other, null, "down", None);
        var slice = (await SlicesAsync(load.Id))[0];
        Assert.Equal((SliceState.Pending, 1, null), (slice.State, slice.Attempts, slice.Error));

        // A renewed lease lasts from the renewal; after it expires, the first caller acquires it.
        Time.Advance(SliceLease - TimeSpan.FromMilliseconds(1));
        Assert.True(await RenewAsync(load.Id, 1, Me, null));
        Time.Advance(SliceLease - TimeSpan.FromMilliseconds(1));
        Assert.NotNull((await BeginAsync(load.Id, 1, Other))!.HeldUntil);
        Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.True(await RenewAsync(load.Id, 1, Me, null));
        Time.Advance(SliceLease);
        var taken = (await BeginAsync(load.Id, 1, Other))!;
        Assert.Equal((null, 2), (taken.HeldUntil, taken.Slice.Attempts));

        // The worker that lost the lease can't change anything, and its calls return false.
        Assert.False(await RenewAsync(load.Id, 1, Me, new SliceProgress(1, [1])));
        Assert.False(await Database.CompleteSliceAsync(load.Id, 1, Me, 3, None));
        Assert.True(await Database.CompleteSliceAsync(load.Id, 1, Other, 3, None));
        Assert.Equal(SliceState.Done, (await BeginAsync(load.Id, 1))!.Slice.State);
    }

    [Fact]
    public async Task Last_attempt_in_progress_is_not_counted_as_exhausted_until_its_lease_expires()
    {
        var load = await IngestAsync(Numbered(4));
        for (var attempt = 1; attempt <= MaxTries; attempt++)
            await BeginAsync(load.Id, 1);
        Assert.NotNull((await BeginAsync(load.Id, 1, Other))!.HeldUntil);
        Time.Advance(SliceLease);
        var ended = (await BeginAsync(load.Id, 1, Other))!;
        Assert.Equal((null, MaxTries + 1), (ended.HeldUntil, ended.Slice.Attempts));
        await Database.FailSliceAsync(load.Id, 1, Other, "no answer", exhausted: true, None);
        Assert.Equal(LoadState.Failed, await StateAsync(load.Id));
    }

    [Fact]
    public async Task Slice_progress_is_kept_until_the_slice_is_requeued()
    {
        var load = await IngestAllAsync(Numbered(4));
        Assert.Null((await BeginAsync(load.Id, 1))!.Progress);
        Assert.True(await RenewAsync(load.Id, 1, Me, new SliceProgress(7, [0b0101, 0]) { LayoutVersion = 3 }));
        Assert.True(await RenewAsync(load.Id, 1, Me, null));
        Time.Advance(SliceLease); // its process crashed
        var kept = await BeginAsync(load.Id, 1, Other);
        Kept(kept, 7, 0b0101, 0);
        Assert.Equal(3, kept!.Progress!.LayoutVersion);
        await Database.RefundSliceAttemptAsync(load.Id, 1, Other, new SliceProgress(8, [0b0111, 0xFF]), "down", None);
        Kept(await BeginAsync(load.Id, 1), 8, 0b0111, 0xFF);
        await Database.FailSliceAsync(load.Id, 1, Me, "bad", exhausted: false, None);
        Kept(await BeginAsync(load.Id, 1), 8, 0b0111, 0xFF);

        // The slice is requeued while its worker runs: that worker has lost it, and its calls have no effect.
        await Database.RequeueSlicesAsync(load.Id, 1, failedOnly: false, None);
        Assert.False(await RenewAsync(load.Id, 1, Me, new SliceProgress(8, [1, 1])));
        await Database.RefundSliceAttemptAsync(load.Id, 1, Me, new SliceProgress(8, [1, 1]), null, None);
        Assert.False(await Database.CompleteSliceAsync(load.Id, 1, Me, 3, None));
        var reset = (await BeginAsync(load.Id, 1, Other))!;
        Assert.Equal((null, null, 1, SliceState.Pending), (reset.Progress, reset.HeldUntil, reset.Slice.Attempts, reset.Slice.State));

        static void Kept(SliceWork? work, int order, params byte[] done)
        {
            Assert.Equal(order, work!.Progress!.OrderVersion);
            Assert.Equal(done, work.Progress.Done);
        }
    }

    [Theory]
    [InlineData("superseded")]
    [InlineData("restarted")]
    public async Task Slice_of_a_superseded_or_restarted_load_cannot_continue_or_reopen_it(string by)
    {
        var load = await IngestAsync(Numbered(4));
        Assert.NotNull(await BeginAsync(load.Id, 1));
        await Database.FailLoadAsync(load.Id, owner: null, "replaced", superseded: by == "superseded", None);
        if (by == "restarted")
        {
            Assert.True(await RenewAsync(load.Id, 1, Me, null)); // slices of a failed load continue
            await Database.RestartLoadAsync(load.Id, Settings, None);
        }
        Assert.False(await RenewAsync(load.Id, 1, Me, null));
        await Database.RefundSliceAttemptAsync(load.Id, 1, Me, new SliceProgress(1, [1]), error: null, None);
        if (by == "superseded")
        {
            Assert.All(await SlicesAsync(load.Id), slice => Assert.Equal((0, null), (slice.Attempts, slice.Error)));
            await RefusedAsync(() => Database.RequeueSlicesAsync(load.Id, 1, failedOnly: false, None));
            Assert.Empty(await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None));
            Assert.Equal(LoadState.Failed, await StateAsync(load.Id));
        }
        Assert.Null(await BeginAsync(load.Id, 1));
    }

    [Fact]
    public async Task Requeueing_selects_one_slice_or_all_failed_slices_or_all_slices()
    {
        var load = await IngestAllAsync(Numbered(9));
        Assert.Empty(await Database.RequeueSlicesAsync(load.Id, null, failedOnly: true, None));
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        await Database.MarkSlicesQueuedAsync(load.Id, 2, 3, None);
        await Database.BeginSliceAsync(load.Id, 2, MaxTries, None);
        await Database.FailSliceAsync(load.Id, 2, "bad", exhausted: true, None);
        Time.Advance(Lease);
        var requeued = Assert.Single(await Database.RequeueSlicesAsync(load.Id, null, failedOnly: true, None));
        Assert.Equal(
            (2, SliceState.Pending, 0, null, null),
            (requeued.Number, requeued.State, requeued.Attempts, requeued.Error, requeued.QueuedAt));
        var open = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Upserting, null, null), (open.State, open.Error, open.FinishedAt));
        Assert.Equal([1], (await Database.RequeueSlicesAsync(load.Id, 1, failedOnly: true, None)).Select(slice => slice.Number));
        Assert.Equal([1, 2, 3], (await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None)).Select(slice => slice.Number));
        Assert.Equal(new SliceCounts(3, 0, 0, 0), (await LoadAsync(load.Id)).Slices);
        await RefusedAsync(() => Database.RequeueSlicesAsync(load.Id, 4, false, None));
        await RefusedAsync(() => Database.RequeueSlicesAsync(new(999), null, false, None));
    }

    [Fact]
    public async Task Load_held_before_requeueing_is_held_again_after_the_match()
    {
        await ImportAsync("user1@example.com");
        var load = await UpsertAsync(Numbered(4));
        Assert.Equal(LoadState.Held, await MatchAsync(load.Id, hold: true));
        await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None);
        await CompleteSlicesAsync(load.Id);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.Equal(LoadState.Held, await MatchAsync(load.Id));
        Assert.True(await Database.ReleaseLoadNotificationsAsync(load.Id, None));
    }

    [Fact]
    public async Task Requeueing_during_ingest_does_not_affect_the_ingester()
    {
        var load = await IngestAsync(Numbered(3));
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None);
        Assert.Equal(LoadState.Ingesting, await StateAsync(load.Id));
        await CommitAsync(load.Id, Me, Batch(4, "x@example.com"));
        await Database.FailLoadAsync(load.Id, "bad CRC", None);
        await Database.RequeueSlicesAsync(load.Id, 1, failedOnly: false, None);
        Assert.Equal(LoadState.Ingesting, await StateAsync(load.Id));
    }

    [Fact]
    public async Task Requeued_finished_load_is_rematched_without_new_notifications()
    {
        await ImportAsync("user1@example.com", "boss@example.org for example.com");
        var load = await UpsertAsync(Numbered(9));
        Assert.Equal(LoadState.Notifying, await MatchAsync(load.Id));
        var claimed = await ClaimedAsync(load.Id, 1, 10);
        foreach (var notification in claimed)
            await Database.CompleteNotificationAsync(notification.Id, Me, null, None);
        Assert.True(await Database.TryFinishLoadAsync(load.Id, None));
        var before = await NotificationsAsync(load.Id);

        Assert.Equal(3, (await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None)).Count);
        Assert.Equal(LoadState.Upserting, await StateAsync(load.Id));
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        await CompleteSlicesAsync(load.Id);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.Equal(LoadState.Done, await MatchAsync(load.Id, hold: true));
        Assert.Equal(before, await NotificationsAsync(load.Id));
        Assert.Equal(new NotificationCounts(0, 2, 0), (await LoadAsync(load.Id)).Notifications);
    }

    [Fact]
    public async Task Matching_starts_once_and_only_when_every_slice_is_done()
    {
        var load = await IngestAsync(Numbered(6));
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        await Database.CompleteSliceAsync(load.Id, 2, 3, None);
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        await Database.FinishIngestAsync(load.Id, Me, new LoadCheckpoint(), None);
        await Database.RequeueSlicesAsync(load.Id, 2, failedOnly: false, None);
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        await Database.MarkSlicesQueuedAsync(load.Id, 2, 2, None);
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        await Database.CompleteSliceAsync(load.Id, 2, 3, None);
        Time.Advance(Lease);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));
        var matching = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Matching, 0, Now), (matching.State, matching.MatchedPosition, matching.UpsertedAt));
    }

    [Fact]
    public async Task Last_slices_completed_concurrently_start_matching_once()
    {
        var another = OpenAnother();
        for (var round = 0; round < 20; round++)
        {
            var load = await IngestAllAsync(Numbered(6), blob: Blob($"Adobe.{round}.zip"));
            using var start = new Barrier(2);
            var started = await Task.WhenAll(
                Task.Factory.StartNew(() => EndAsync(Database, 1), None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Unwrap(),
                Task.Factory.StartNew(() => EndAsync(another, 2), None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Unwrap());
            Assert.Single(started, won => won);

            async Task<bool> EndAsync(IBreachDatabase database, int slice)
            {
                start.SignalAndWait();
                await database.CompleteSliceAsync(load.Id, slice, 3, None);
                return await database.TryStartMatchingAsync(load.Id, None);
            }
        }
    }
}
