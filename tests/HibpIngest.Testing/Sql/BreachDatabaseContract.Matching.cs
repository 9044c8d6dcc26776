namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Subscribers_are_matched_by_address_and_by_domain()
    {
        await ImportAsync(
            "user2@example.com",
            "user9@example.com", // not in the breach
            "user2@example.org", // another domain
            "ser2@example.com", // a suffix of another alias
            "user@2example.com",
            "boss@nowhere.example for example.com",
            "user2@example.com for example.com", // notified of both, by two mails
            "boss@nowhere.example for example.net",
            "boss@nowhere.example for com",
            "other@nowhere.example for sub.example.com");
        var load = await UpsertAsync([.. Numbered(5), "x@sub.example.com", "y@example.net", "z@sub.example.com", "w@sub.sub.example.com"]);
        Time.Advance(Lease);
        Assert.Equal(LoadState.Notifying, await MatchAsync(load.Id));
        var notifications = await NotificationsAsync(load.Id);
        Assert.Equal(
            [
                "boss@nowhere.example for example.com, 5 accounts",
                "boss@nowhere.example for example.net, 1 accounts",
                "other@nowhere.example for sub.example.com, 2 accounts",
                "user2@example.com",
                "user2@example.com for example.com, 5 accounts",
            ],
            Format(notifications).Select(shown => shown[(shown.IndexOf(' ', StringComparison.Ordinal) + 1)..]).Order());
        Assert.Equal([1, 2, 3, 4, 5], notifications.Select(notification => notification.Number));
        Assert.Equal(5, notifications.Select(notification => notification.Id).Distinct().Count());
        Assert.Equal([2, 3], (await Database.ListNotificationsAsync(load.Id, 2, 3, None)).Select(notification => notification.Number));
        var matched = await LoadAsync(load.Id);
        Assert.Equal((9, new NotificationCounts(5, 0, 0), null), (matched.Accounts, matched.Notifications, matched.FinishedAt));
        Assert.Equal(Now, (await BreachAsync()).PublishedAt);
    }

    [Fact]
    public async Task Matching_agrees_with_a_plain_join_on_random_data()
    {
        var seed = Random.Shared.Next();
        var random = new Random(seed);
        string Address() => $"u{random.Next(40)}@d{random.Next(6)}.example";
        var accounts = Enumerable.Range(0, 120).Select(_ => Address()).Distinct().ToList();
        var subscriptions = Enumerable.Range(0, 60)
            .Select(_ => new Subscription(Address(), random.Next(3) == 0 ? $"d{random.Next(8)}.example" : null)).Distinct().ToList();
        await Database.ImportSubscribersAsync(subscriptions, null, None);
        var load = await MatchedAsync(accounts);

        var expected = subscriptions
            .Select(
                s => (
                    s.Email, s.Domain, Accounts: accounts.LongCount(
                        a => s.Domain is null ? a == s.Email : a.EndsWith($"@{s.Domain}", StringComparison.Ordinal))))
            .Where(s => s.Accounts > 0);
        Assert.True(
            expected.ToHashSet()
            .SetEquals((await NotificationsAsync(load.Id)).Select(n => (n.Email, n.Domain, n.Accounts))), $"seed {seed}");
    }

    [Fact]
    public async Task Row_range_is_matched_once_and_from_its_start_after_it_failed_midway()
    {
        await ImportAsync("boss@example.org for example.com", "user1@example.com");
        var load = await IngestAllAsync(Numbered(6));
        Assert.False(await Database.MatchRowsAsync(load.Id, 0, 4, None));
        await CompleteSlicesAsync(load.Id);
        await Database.TryStartMatchingAsync(load.Id, None);
        foreach (var table in (string[])["notifications", "load_domains"])
        {
            await FailInsertsAsync(table);
            await Assert.ThrowsAnyAsync<Exception>(() => Database.MatchRowsAsync(load.Id, 0, 4, None));
            await RepairInsertsAsync(table);
        }
        Assert.Equal(0, (await LoadAsync(load.Id)).MatchedPosition);
        Assert.True(await Database.MatchRowsAsync(load.Id, 0, 4, None));
        Assert.False(await Database.MatchRowsAsync(load.Id, 0, 4, None));
        Assert.False(await Database.MatchRowsAsync(load.Id, 5, 6, None));
        Assert.Null(await Database.FinishMatchingAsync(load.Id, false, false, None));
        var matched = await ConcurrentlyAsync(8, (database, _) => database.MatchRowsAsync(load.Id, 4, 6, None));
        Assert.Single(matched, won => won);
        Assert.Equal(6, (await LoadAsync(load.Id)).MatchedPosition);
        Assert.Equal(LoadState.Notifying, await Database.FinishMatchingAsync(load.Id, false, false, None));
        Assert.Null(await Database.FinishMatchingAsync(load.Id, false, false, None));
        Assert.Equal(["1: user1@example.com", "2: boss@example.org for example.com, 6 accounts"], await FormatAsync(load.Id));
    }

    [Fact]
    public async Task Subscriptions_added_during_matching_wait_for_the_next_load()
    {
        await ImportAsync("chief@example.org for example.com");
        var load = await UpsertAsync([.. Numbered(5), "x@other.example"]);
        Assert.True(await Database.MatchRowsAsync(load.Id, 0, 4, None));
        await ImportAsync("boss@example.org for example.com", "boss@example.org for other.example", "user5@example.com");
        Assert.True(await Database.MatchRowsAsync(load.Id, 4, 6, None));
        Assert.Equal(LoadState.Notifying, await Database.FinishMatchingAsync(load.Id, false, false, None));
        Assert.Equal(["1: chief@example.org for example.com, 5 accounts"], await FormatAsync(load.Id));
        var next = await UpsertAsync(Numbered(6), blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Notifying, await MatchAsync(next.Id));
        Assert.Equal(2, (await NotificationsAsync(next.Id)).Count);
    }

    [Fact]
    public async Task Subscriber_is_notified_once_across_all_loads_of_a_breach()
    {
        await ImportAsync("user1@example.com", "boss@example.org for example.com");
        var first = await UpsertAsync(Numbered(4));
        Assert.Equal(LoadState.Notifying, await MatchAsync(first.Id));
        var publishedAt = Now;
        Time.Advance(Lease);
        await ImportAsync("user2@example.com");
        var second = await UpsertAsync(Numbered(5), blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Notifying, await MatchAsync(second.Id));
        Assert.Equal(["1: user2@example.com"], await FormatAsync(second.Id));
        Assert.Equal(publishedAt, (await BreachAsync()).PublishedAt);
        var third = await UpsertAsync(Numbered(5), blob: Blob("Adobe.3.zip"));
        Assert.Equal(LoadState.Done, await MatchAsync(third.Id, hold: true));
        Assert.Equal(Now, (await LoadAsync(third.Id)).FinishedAt);
        var bold = await MatchedAsync(Numbered(5), "Bold");
        Assert.Equal(3, (await NotificationsAsync(bold.Id)).Count);
    }

    [Fact]
    public async Task Loads_of_a_breach_matched_concurrently_notify_each_subscriber_once()
    {
        await ImportAsync([.. Numbered(40)]);
        await ImportAsync("boss@example.org for example.com");
        var first = await UpsertAsync(Numbered(40));
        var second = await UpsertAsync([.. Numbered(40).AsEnumerable().Reverse()], blob: Blob("Adobe.2.zip"));
        var another = OpenAnother();
        await Task.WhenAll(Task.Run(() => AllAsync(Database, first.Id)), Task.Run(() => AllAsync(another, second.Id)));
        var notified = (await NotificationsAsync(first.Id)).Concat(await NotificationsAsync(second.Id)).ToList();
        Assert.Equal(41, notified.Count);
        Assert.Equal(41, notified.Select(notification => notification.Email).Distinct().Count());
        foreach (var load in new[] { first, second })
        {
            var numbers = (await NotificationsAsync(load.Id)).Select(notification => notification.Number).ToList();
            Assert.Equal(Enumerable.Range(1, numbers.Count), numbers);
        }

        static async Task AllAsync(IBreachDatabase database, LoadId load)
        {
            for (var after = 0; after < 40; after += 8)
                Assert.True(await database.MatchRowsAsync(load, after, after + 8, None));
            Assert.NotNull(await database.FinishMatchingAsync(load, hold: false, suppress: false, None));
        }
    }

    [Fact]
    public async Task Unsent_notifications_of_a_failed_load_move_to_the_next_load()
    {
        await ImportAsync("user1@example.com", "user2@example.com", "boss@example.org for example.com");
        var failed = await MatchedAsync(Numbered(4));
        var sent = Assert.Single(await ClaimedAsync(failed.Id, 2, 2));
        await Database.CompleteNotificationAsync(sent.Id, Me, null, None);
        await Database.FailLoadAsync(failed.Id, "a fault", None);
        var bold = await UpsertAsync(Numbered(4), "Bold");
        await MatchRowsAsync(bold.Id);
        await Database.FailLoadAsync(bold.Id, "another breach", None);

        var next = await UpsertAsync(["user9@example.com", "user1@example.com"], blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Notifying, await MatchAsync(next.Id));
        Assert.Equal(["1: user1@example.com", "2: boss@example.org for example.com, 2 accounts"], await FormatAsync(next.Id));
        Assert.Equal(LoadState.Notifying, await Database.ResumeLoadAsync(failed.Id, None));
        var left = Assert.Single(await NotificationsAsync(failed.Id));
        Assert.Equal((sent.Id, 2, "user2@example.com"), (left.Id, left.Number, left.Email));
        Assert.True(await Database.TryFinishLoadAsync(failed.Id, None));
    }

    [Fact]
    public async Task Rematching_keeps_notification_numbers_and_continues_them()
    {
        await ImportAsync("user1@example.com", "user2@example.com", "chief@example.org for example.com");
        var load = await MatchedAsync(Numbered(4));
        var before = await NotificationsAsync(load.Id);
        await ImportAsync("user0@example.com", "user3@example.com", "boss@example.org for example.com");
        await Database.RequeueSlicesAsync(load.Id, 1, false, None);
        await CompleteSlicesAsync(load.Id);
        await Database.TryStartMatchingAsync(load.Id, None);
        Assert.Equal(LoadState.Held, await MatchAsync(load.Id, hold: true));
        var after = await NotificationsAsync(load.Id);
        Assert.Equal(before, after.Take(3));
        Assert.Equal(["4: user3@example.com", "5: boss@example.org for example.com, 4 accounts"], Format(after.Skip(3)));
    }

    [Fact]
    public async Task Notifications_taken_over_later_are_numbered_after_existing_ones()
    {
        await ImportAsync("user1@example.com");
        var older = await MatchedAsync(Numbered(1));
        await ImportAsync("user2@example.com");
        var newer = await MatchedAsync(Numbered(2), blob: Blob("Adobe.2.zip"));
        await Database.FailLoadAsync(older.Id, "a fault", None);
        await Database.RequeueSlicesAsync(newer.Id, null, false, None);
        await CompleteSlicesAsync(newer.Id);
        await Database.TryStartMatchingAsync(newer.Id, None);
        await MatchAsync(newer.Id);
        Assert.Equal(["1: user2@example.com", "2: user1@example.com"], await FormatAsync(newer.Id));
    }

    [Fact]
    public async Task Suppressed_matching_publishes_without_notifications()
    {
        await ImportAsync("user1@example.com", "boss@example.org for example.com");
        var load = await UpsertAsync(Numbered(4));
        Assert.Equal(LoadState.Done, await MatchAsync(load.Id, suppress: true));
        Assert.Empty(await NotificationsAsync(load.Id));
        Assert.NotNull((await BreachAsync()).PublishedAt);
    }

    [Fact]
    public async Task A_held_load_waits_for_its_release()
    {
        await ImportAsync("user1@example.com");
        var load = await UpsertAsync(Numbered(4));
        Assert.False(await Database.ReleaseLoadNotificationsAsync(load.Id, None));
        Assert.Equal(LoadState.Held, await MatchAsync(load.Id, hold: true));
        Assert.Single(await NotificationsAsync(load.Id));
        var (claimed, othersHeld) = await Database.ClaimNotificationsAsync(load.Id, 1, 10, Me, Lease, None);
        Assert.Empty(claimed);
        Assert.False(othersHeld);
        Assert.False(await Database.TryFinishLoadAsync(load.Id, None));
        Assert.True(await Database.ReleaseLoadNotificationsAsync(load.Id, None));
        Assert.False(await Database.ReleaseLoadNotificationsAsync(load.Id, None));
        Assert.Equal(LoadState.Notifying, await StateAsync(load.Id));
        Assert.Single(await ClaimedAsync(load.Id, 1, 10));
    }

    [Fact]
    public async Task Notification_has_one_claimant_until_the_claim_expires()
    {
        await ImportAsync([.. Numbered(5)]);
        var load = await MatchedAsync(Numbered(5));
        Assert.Equal([1, 2, 3], await ClaimAsync(Me, 1, 3, othersHeld: false));
        Assert.Equal([4], await ClaimAsync(Other, 2, 4, othersHeld: true));
        Time.Advance(Lease / 2);
        Assert.Equal([2, 3], await ClaimAsync(Me, 2, 3, othersHeld: false));
        Time.Advance(Lease / 2);
        Assert.Equal([1], await ClaimAsync(Other, 1, 3, othersHeld: true));
        await Database.ReleaseClaimsAsync(load.Id, 1, 2, Me, None);
        Assert.Equal([1, 2], await ClaimAsync(Other, 1, 3, othersHeld: true));
        Time.Advance(Lease / 2);
        Assert.Equal([1, 2, 3], await ClaimAsync(Other, 1, 3, othersHeld: false));

        async Task<List<int>> ClaimAsync(string owner, int first, int last, bool othersHeld)
        {
            var claims = await Database.ClaimNotificationsAsync(load.Id, first, last, owner, Lease, None);
            Assert.Equal(othersHeld, claims.HeldByOthers);
            return [.. claims.Claimed.Select(notification => notification.Number)];
        }
    }

    [Fact]
    public async Task Notification_is_completed_once_and_not_while_another_owner_holds_it()
    {
        await ImportAsync([.. Numbered(4)]);
        var load = await MatchedAsync(Numbered(4));
        var claimed = await ClaimedAsync(load.Id, 1, 3);
        var unclaimed = (await Database.ListNotificationsAsync(load.Id, 4, 4, None))[0].Id;
        Assert.False((await Database.CompleteNotificationAsync(claimed[0].Id, Other, null, None)).Recorded);
        Assert.True((await Database.CompleteNotificationAsync(claimed[0].Id, Me, null, None)).Recorded);
        Assert.False((await Database.CompleteNotificationAsync(claimed[0].Id, Me, null, None)).Recorded);
        Assert.True((await Database.CompleteNotificationAsync(claimed[1].Id, Me, new MailRefusal("550 5.1.1"), None)).Recorded);
        Assert.True((await Database.CompleteNotificationAsync(unclaimed, Other, null, None)).Recorded);
        Assert.False((await Database.CompleteNotificationAsync(9_999, Me, null, None)).Recorded);
        Assert.Equal(new NotificationCounts(1, 2, 1), (await LoadAsync(load.Id)).Notifications);
        Assert.Empty(await ClaimedAsync(load.Id, 1, 2));
        Assert.False(await Database.TryFinishLoadAsync(load.Id, None));
        Time.Advance(Lease);
        // The claim has expired but wasn't taken over: the mail was sent, so its completion is recorded.
        Assert.True((await Database.CompleteNotificationAsync(claimed[2].Id, Me, null, None)).Recorded);
        var finished = await ConcurrentlyAsync(8, (database, _) => database.TryFinishLoadAsync(load.Id, None));
        Assert.Single(finished, won => won);
        var done = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Done, Now, new NotificationCounts(0, 3, 1)), (done.State, done.FinishedAt, done.Notifications));
    }

    [Fact]
    public async Task Concurrent_processes_on_one_load_do_each_step_once()
    {
        const int Batches = 12;
        await ImportAsync([.. Numbered(30)]);
        await ImportAsync("boss@example.org for example.com");
        var load = await StartAsync();
        var another = OpenAnother();
        var databases = new[] { Database, another };
        var matchingStarted = 0;

        // Four ingesters, two per process, take the load from each other; four workers upsert committed slices.
        var ingested = Enumerable.Range(0, 4).Select(i => Task.Run(() => IngestAsync(databases[i % 2], $"owner {i}"))).ToList();
        var ended = Task.WhenAll(ingested);
        await Task.WhenAll([.. ingested, .. Enumerable.Range(0, 4).Select(i => Task.Run(() => WorkAsync(databases[i % 2])))]);
        if (await Database.TryStartMatchingAsync(load.Id, None))
            matchingStarted++;

        Assert.Equal(1, matchingStarted);
        var loaded = (await Database.GetLoadAsync(load.Id, None))!;
        Assert.Equal((Batches * 5, Batches, new SliceCounts(0, 0, Batches * 2, 0)), (loaded.LastPosition, loaded.Batches, loaded.Slices));
        Assert.Equal(Batches * 5, loaded.Entities);
        var rows = new AccountBatch(Batches * 5);
        await Database.ReadRowsAsync(load.Id, 1, Batches * 5, rows, None);
        Assert.Equal(Numbered(Batches * 5), Accounts(rows));

        await Task.WhenAll(databases.Select(database => Task.Run(async () =>
        {
            for (var after = 0; after < Batches * 5; after += 20)
                await database.MatchRowsAsync(load.Id, after, after + 20, None);
        })));
        Assert.Equal(LoadState.Notifying, await Database.FinishMatchingAsync(load.Id, false, false, None));
        var sent = await Task.WhenAll(databases.Select((database, i) => Task.Run(() => SendAsync(database, $"sender {i}"))));
        Assert.Equal(Enumerable.Range(1, 31), sent.SelectMany(numbers => numbers).Order());

        async Task IngestAsync(IBreachDatabase database, string owner)
        {
            while (await database.GetLoadAsync(load.Id, None) is { State: LoadState.Ingesting } found)
            {
                if (!await database.TryClaimLoadAsync(load.Id, owner, Lease, None))
                {
                    await Task.Yield();
                    continue;
                }
                found = (await database.GetLoadAsync(load.Id, None))!;
                if (found.State != LoadState.Ingesting)
                {
                    await database.ReleaseLoadAsync(load.Id, owner, None);
                    return;
                }
                if (found.LastPosition == Batches * 5)
                {
                    await database.FinishIngestAsync(load.Id, owner, new LoadCheckpoint(), None);
                    return;
                }
                var first = (int)found.LastPosition + 1;
                await database.CommitBatchAsync(
                    load.Id, owner, Batch(first, [.. Numbered(first + 4).Skip(first - 1)]), SliceRows, new LoadCheckpoint(), false, Lease,
                    None);
                await database.ReleaseLoadAsync(load.Id, owner, None);
            }
        }

        async Task WorkAsync(IBreachDatabase database)
        {
            while (true)
            {
                var all = ended.IsCompleted;
                foreach (var slice in await database.ListSlicesAsync(load.Id, false, None))
                {
                    if (slice.State == SliceState.Done
                        || await database.BeginSliceAsync(load.Id, slice.Number, 1_000, None) is not { } work)
                        continue;
                    var read = new AccountBatch(SliceRows);
                    await database.ReadRowsAsync(load.Id, slice.First, slice.Last, read, None);
                    Assert.Equal(work.Slice.Count, read.Count);
                    await database.CompleteSliceAsync(load.Id, slice.Number, read.Count, None);
                    if (await database.TryStartMatchingAsync(load.Id, None))
                        Interlocked.Increment(ref matchingStarted);
                }
                if (all)
                    return;
            }
        }

        async Task<List<int>> SendAsync(IBreachDatabase database, string owner)
        {
            var numbers = new List<int>();
            for (var first = 1; first <= 31; first += 5)
            {
                foreach (var notification in
                    (await database.ClaimNotificationsAsync(load.Id, first, first + 4, owner, Lease, None)).Claimed)
                {
                    if ((await database.CompleteNotificationAsync(notification.Id, owner, null, None)).Recorded)
                        numbers.Add(notification.Number);
                }
            }
            return numbers;
        }
    }
}
