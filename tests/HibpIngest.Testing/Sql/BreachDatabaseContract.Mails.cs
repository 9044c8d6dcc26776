namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private static readonly MatchEnd Send = new(null, Hold: false);

    [Fact]
    public async Task Matching_ends_in_steps_that_another_process_can_continue()
    {
        await ImportAsync([.. Numbered(9)]);
        await ImportAsync([.. Enumerable.Range(1, 6).Select(i => $"boss{i}@example.org for example.com")]);
        var failed = await MatchedAsync(Numbered(3));
        await Database.FailLoadAsync(failed.Id, "a fault", None);
        var load = await UpsertAsync([.. Numbered(9), .. Numbered(4)], blob: Blob("Adobe.2.zip"), duplicatesPossible: true);
        await MatchRowsAsync(load.Id);
        var steps = 0;
        LoadState? state;
        do
        {
            state = await OpenAnother().FinishMatchingAsync(load.Id, Send with { StepRows = 4, CountRows = 5 }, None);
            if (state == LoadState.Matching)
            {
                steps++;
                Assert.Null((await LoadAsync(load.Id)).PublishedAt);
            }
        }
        while (state == LoadState.Matching);
        Assert.Equal(LoadState.Notifying, state);
        // 13 rows in 3 parts; 3 + 6 notifications taken over, 15 subscriptions checked, 15 notifications numbered, 4 at a time.
        Assert.InRange(steps, 3 + 2 + 3 + 3, 14);
        var matched = await LoadAsync(load.Id);
        Assert.Equal((9, new NotificationCounts(15, 0, 0)), (matched.Accounts, matched.Notifications));
        Assert.NotNull(matched.PublishedAt);
        var notifications = await NotificationsAsync(load.Id);
        Assert.Equal(Enumerable.Range(1, 15), notifications.Select(notification => notification.Number));
        Assert.All(notifications.Where(notification => notification.Domain is not null), notification => Assert.Equal(9,
            notification.Accounts));
    }

    [Fact]
    public async Task Exact_counts_do_not_depend_on_the_number_of_parts()
    {
        var seed = Random.Shared.Next();
        var random = new Random(seed);
        await ImportAsync("a@example.org for d1.example", "b@example.org for d2.example", "c@example.org for nowhere.example");
        var accounts = Enumerable.Range(0, 300).Select(_ =>
            $"{new string((char)('a' + random.Next(26)), 1 + random.Next(3))}{random.Next(9)}@d{random.Next(4)}.example").ToList();
        foreach (var (rows, i) in new[] { 1_000L, 100, 37, 1 }.Select((rows, i) => (rows, i)))
        {
            var load = await UpsertAsync(accounts, $"Breach{i}", duplicatesPossible: true);
            await MatchRowsAsync(load.Id);
            Assert.Equal(LoadState.Notifying, await Database.FinishAllAsync(load.Id, Send with { CountRows = rows }, None));
            Assert.True(accounts.Distinct().LongCount() == (await LoadAsync(load.Id)).Accounts, $"seed {seed}, parts of {rows}");
            var accountsByDomain = (await NotificationsAsync(load.Id)).ToDictionary(notification => notification.Domain!, notification =>
                notification.Accounts);
            foreach (var domain in new[] { "d1.example", "d2.example" })
                Assert.True(accounts.Distinct().LongCount(account => account.EndsWith($"@{domain}",
                    StringComparison.Ordinal)) == accountsByDomain[domain], $"seed {seed}, parts of {rows}, {domain}");
        }
    }

    [Fact]
    public async Task Concurrent_ends_of_one_matching_take_effect_once()
    {
        await ImportAsync([.. Numbered(30)]);
        await ImportAsync("boss@example.org for example.com");
        var load = await UpsertAsync([.. Numbered(30), "user1@example.com"], duplicatesPossible: true);
        await MatchRowsAsync(load.Id);
        var ended = await ConcurrentlyAsync(
            4, (database, _) => database.FinishAllAsync(load.Id, Send with { StepRows = 3, CountRows = 7 }, None));
        Assert.Single(ended, state => state == LoadState.Notifying);
        Assert.Equal(3, ended.Count(state => state is null));
        Assert.Equal(30, (await LoadAsync(load.Id)).Accounts);
        Assert.Equal(Enumerable.Range(1, 31), (await NotificationsAsync(load.Id)).Select(notification => notification.Number));
    }

    [Fact]
    public async Task Matching_step_resets_the_attempts_and_renews_the_lease()
    {
        await ImportAsync([.. Numbered(6)]);
        var load = await UpsertAsync(Numbered(6));
        Assert.True(await Database.TryClaimLoadAsync(load.Id, LoadState.Matching, Me, Lease, None));
        Assert.Equal(1, (await LoadAsync(load.Id)).Attempts);
        Time.Advance(Lease * 2);
        Assert.True(await Database.MatchRowsAsync(load.Id, 0, 6, Lease, None));
        var found = await LoadAsync(load.Id);
        Assert.Equal((0, Now + Lease), (found.Attempts, found.LeaseExpiresAt));
        Assert.False(await Database.TryClaimLoadAsync(load.Id, LoadState.Matching, Other, Lease, None));
        Time.Advance(Lease * 2);
        Assert.True(await Database.TryClaimLoadAsync(load.Id, LoadState.Matching, Other, Lease, None));
        Assert.Equal(LoadState.Matching, await Database.FinishMatchingAsync(load.Id, Send with { StepRows = 2, Lease = Lease / 2 }, None));
        found = await LoadAsync(load.Id);
        Assert.Equal((0, Now + (Lease / 2)), (found.Attempts, found.LeaseExpiresAt));
        Assert.Equal(LoadState.Notifying, await Database.FinishAllAsync(load.Id, Send, None));
        Assert.Null((await LoadAsync(load.Id)).LeaseExpiresAt);
        // A step doesn't create a lease.
        var next = await UpsertAsync(Numbered(6), "Bold");
        Assert.True(await Database.MatchRowsAsync(next.Id, 0, 6, Lease, None));
        Assert.Null((await LoadAsync(next.Id)).LeaseExpiresAt);
    }

    [Fact]
    public async Task End_of_matching_merges_metadata_publishes_and_holds_atomically()
    {
        await ImportAsync("user1@example.com");
        var load = await UpsertAsync(Numbered(4));
        await MatchRowsAsync(load.Id);
        await Assert.ThrowsAsync<HibpIngest.Errors.BadInputException>(() => Database.FinishMatchingAsync(load.Id,
            new MatchEnd(Encoding.UTF8.GetBytes("{"), Hold: false), None));
        Assert.Equal(LoadState.Matching, await StateAsync(load.Id));
        Assert.Null((await BreachAsync()).PublishedAt);
        Assert.Equal(
            LoadState.Held, await Database.FinishMatchingAsync(
                load.Id, new MatchEnd(Encoding.UTF8.GetBytes("""{"Title":"Merged","Notify":"hold","IsSensitive":true}"""), Hold: false),
                None));
        var breach = await BreachAsync();
        Assert.Equal(("Merged", BreachFlags.Sensitive), (breach.Metadata.Title, breach.Metadata.Flags));
        Assert.Equal([(int)load.Id.Value], breach.Marks);
        Assert.Null((await LoadAsync(load.Id)).HeldBecause);

        var nothing = await UpsertAsync(["x@nowhere.example"], blob: Blob("Adobe.2.zip"));
        await MatchRowsAsync(nothing.Id);
        Assert.Equal(LoadState.Held, await Database.FinishMatchingAsync(nothing.Id, new MatchEnd(null, false, "it is of another breach"),
            None));
        Assert.Equal("it is of another breach", (await LoadAsync(nothing.Id)).HeldBecause);
        Assert.True(await Database.ReleaseLoadNotificationsAsync(nothing.Id, None));
        Assert.Null((await LoadAsync(nothing.Id)).HeldBecause);
        Assert.True(await Database.TryFinishLoadAsync(nothing.Id, None));
    }

    [Fact]
    public async Task Load_overtaken_by_a_newer_one_of_its_blob_is_done_and_never_published()
    {
        await ImportAsync([.. Numbered(5)]);
        var older = await UpsertAsync(Numbered(5));
        var newer = await UpsertAsync(["user1@example.com"], blob: Blob(etag: "\"0x2\""));
        var otherName = await UpsertAsync(["user2@example.com"], blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Notifying, await MatchAsync(otherName.Id));
        Assert.Equal(LoadState.Notifying, await MatchAsync(newer.Id));
        Assert.Equal(LoadState.Done, await MatchAsync(older.Id));
        var overtaken = await LoadAsync(older.Id);
        Assert.Equal((null, newer.Id, new NotificationCounts(0, 0, 0)), (overtaken.PublishedAt, overtaken.ReplacedBy,
            overtaken.Notifications));
        Assert.Equal([(int)newer.Id.Value, (int)otherName.Id.Value], (await BreachAsync()).Marks);

        // The other way round: the new load is published and replaces the older one.
        var newest = await UpsertAsync(Numbered(5), blob: Blob(etag: "\"0x3\""));
        Assert.Equal(LoadState.Notifying, await MatchAsync(newest.Id));
        Assert.Equal((null, (LoadId?)newest.Id), await PublishedAsync(newer.Id));
        Assert.Equal([(int)otherName.Id.Value, (int)newest.Id.Value], (await BreachAsync()).Marks);

        async Task<(DateTimeOffset?, LoadId?)> PublishedAsync(LoadId load) => (await LoadAsync(load)) is var found
            ? (found.PublishedAt, found.ReplacedBy) : default;
    }

    [Fact]
    public async Task Newer_load_notifies_the_matches_it_shares_with_an_overtaken_load()
    {
        await ImportAsync("user1@example.com", "user2@example.com", "user3@example.com", "boss@example.org for example.com",
            "boss@example.org for old.example");
        var older = await UpsertAsync(["user1@example.com", "user2@example.com", "x@old.example"]);
        await MatchRowsAsync(older.Id);
        Assert.Equal(LoadState.Matching, await Database.FinishMatchingAsync(older.Id, Send with { StepRows = 5 }, None));
        var newer = await UpsertAsync(["user1@example.com", "user3@example.com"], blob: Blob(etag: "\"0x2\""));
        Assert.Equal(LoadState.Notifying, await MatchAsync(newer.Id));
        Assert.Equal(LoadState.Done, await Database.FinishAllAsync(older.Id, Send, None));
        Assert.Equal(
            ["boss@example.org for example.com, 2 accounts", "user1@example.com", "user3@example.com"],
            (await FormatAsync(newer.Id))
                .Select(shown => shown[(shown.IndexOf(' ', StringComparison.Ordinal) + 1)..]).Order());
        Assert.Empty(await NotificationsAsync(older.Id));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Load_that_takes_over_notifications_of_a_held_load_is_held(bool byReason)
    {
        await ImportAsync("user1@example.com", "user2@example.com");
        var held = await UpsertAsync(["user1@example.com"]);
        if (byReason)
            await Database.HoldLoadsAsync("adobe", "an operator's", None);
        Assert.Equal(LoadState.Held, await MatchAsync(held.Id, hold: !byReason));
        await Database.FailLoadAsync(held.Id, "a fault", None);
        var next = await UpsertAsync(["user1@example.com", "user2@example.com"], blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Held, await MatchAsync(next.Id));
        Assert.Equal($"it took over notifications of load {held.Id}, which was held", (await LoadAsync(next.Id)).HeldBecause);
        // The hold is passed on again to a third load.
        await Database.FailLoadAsync(next.Id, "a fault", None);
        var third = await UpsertAsync(["user1@example.com"], blob: Blob("Adobe.3.zip"));
        Assert.Equal(LoadState.Held, await MatchAsync(third.Id));
        Assert.Equal(2, (await NotificationsAsync(third.Id)).Count);
    }

    [Fact]
    public async Task Hold_stops_notifying_loads_and_applies_to_open_and_failed_ones()
    {
        await ImportAsync("user1@example.com", "user2@example.com");
        var notifying = await MatchedAsync(["user1@example.com"]);
        var failed = await MatchedAsync(["user2@example.com"], blob: Blob("Adobe.2.zip"));
        await Database.FailLoadAsync(failed.Id, "a fault", None);
        var ingesting = await StartAsync(blob: Blob("Adobe.3.zip"));
        var other = await MatchedAsync(["user1@example.com"], "Bold");
        Assert.Equal([notifying.Id], await Database.HoldLoadsAsync("ADOBE", "a reason", None));
        Assert.Equal(LoadState.Notifying, await StateAsync(other.Id));
        Assert.Empty(await ClaimedAsync(notifying.Id, 1, 9));
        Assert.Equal("a reason", (await LoadAsync(ingesting.Id)).HeldBecause);
        Assert.Equal(LoadState.Held, await Database.ResumeLoadAsync(failed.Id, None));
        await RefusedAsync(() => Database.HoldLoadsAsync("Unknown", "a reason", None));
    }

    [Fact]
    public async Task Hiding_a_breach_stops_claims_and_senders()
    {
        await ImportAsync([.. Numbered(3)]);
        var load = await MatchedAsync(Numbered(3));
        var claimed = await ClaimedAsync(load.Id, 1, 2);
        Assert.Equal(new NotificationOutcome(Recorded: true, MayContinue: true),
            await Database.CompleteNotificationAsync(claimed[0].Id, Me, null,
            None));
        await Database.MarkMessageSentAsync(load.Id, None);
        await Database.SetHiddenAsync("Adobe", hidden: true, None);
        Assert.Equal(new NotificationOutcome(Recorded: true, MayContinue: false),
            await Database.CompleteNotificationAsync(claimed[1].Id, Me, null,
            None));
        Assert.Empty(await ClaimedAsync(load.Id, 1, 3));
        Assert.Equal(new MailProgress(false, 0, 3, 3), await Database.GetMailProgressAsync(load.Id, None));
        Time.Advance(Lease);
        Assert.False(await Database.TryRestartMailsAsync(load.Id, TimeSpan.Zero, None));
        await Database.SetHiddenAsync("Adobe", hidden: false, None);
        Assert.True(await Database.TryRestartMailsAsync(load.Id, TimeSpan.FromDays(1), None));
        Assert.Single(await ClaimedAsync(load.Id, 1, 3));
    }

    [Fact]
    public async Task Concurrent_queueing_or_restarting_of_mails_has_one_winner()
    {
        await ImportAsync([.. Numbered(6)]);
        var load = await UpsertAsync(Numbered(6));
        Assert.False(await Database.TryQueueMailsAsync(load.Id, 0, 2, None));
        Assert.Equal(new MailProgress(false, 0, null, 0), await Database.GetMailProgressAsync(load.Id, None));
        Assert.Null(await Database.GetMailProgressAsync(new(9_999_999), None));
        await MatchAsync(load.Id);
        Assert.Equal(new MailProgress(true, 0, 1, 6), await Database.GetMailProgressAsync(load.Id, None));
        var queued = await ConcurrentlyAsync(6, (database, _) => database.TryQueueMailsAsync(load.Id, 0, 4, None));
        Assert.Single(queued, won => won);
        Assert.False(await Database.TryRestartMailsAsync(load.Id, Lease, None));
        var claimed = await ClaimedAsync(load.Id, 1, 1);
        await Database.CompleteNotificationAsync(claimed[0].Id, Me, null, None);
        Assert.Equal(new MailProgress(true, 4, 2, 6), await Database.GetMailProgressAsync(load.Id, None));
        Time.Advance(Lease);
        var restarted = await ConcurrentlyAsync(6, (database, _) => database.TryRestartMailsAsync(load.Id, Lease, None));
        Assert.Single(restarted, won => won);
        Assert.Equal(new MailProgress(true, 0, 2, 6), await Database.GetMailProgressAsync(load.Id, None));
    }

    [Fact]
    public async Task Claims_of_all_loads_share_one_send_rate()
    {
        await ImportAsync([.. Numbered(40)]);
        var one = await UpsertAsync(Numbered(40));
        var two = await UpsertAsync(Numbered(40), "Bold");
        await MatchAsync(one.Id);
        await MatchAsync(two.Id);
        var order = new ClaimOrder(Me, Lease, Limit: 20, PerSecond: 10, MaxLeadTime: TimeSpan.FromSeconds(3));
        var first = await Database.ClaimNotificationsAsync(one.Id, 1, 40, order, None);
        Assert.Equal((20, TimeSpan.Zero, true), (first.Claimed.Count, first.StartsIn, first.HasMore));
        var second = await OpenAnother().ClaimNotificationsAsync(two.Id, 1, 15, order with { Owner = Other }, None);
        Assert.Equal((15, TimeSpan.FromSeconds(2), false), (second.Claimed.Count, second.StartsIn, second.HasMore));
        // The next free time is 3.5 s ahead, beyond the longest wait: nothing is claimed, and no time is reserved.
        for (var again = 0; again < 2; again++)
        {
            var none = await Database.ClaimNotificationsAsync(two.Id, 16, 40, order, None);
            Assert.Equal((0, TimeSpan.FromSeconds(3.5)), (none.Claimed.Count, none.RetryAfter));
        }
        // Without anything to claim, no time is reserved either.
        Assert.Null((await Database.ClaimNotificationsAsync(two.Id, 1, 15, order, None)).RetryAfter);
        Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(TimeSpan.FromSeconds(2.5), (await Database.ClaimNotificationsAsync(two.Id, 16, 17, order, None)).StartsIn);
        // Unused time is not saved up: a week later there is no burst.
        Time.Advance(TimeSpan.FromDays(7));
        Assert.Equal(TimeSpan.Zero, (await Database.ClaimNotificationsAsync(two.Id, 18, 19, order, None)).StartsIn);
        Assert.Equal(TimeSpan.FromSeconds(0.2), (await Database.ClaimNotificationsAsync(two.Id, 20, 21, order, None)).StartsIn);
        // A clock that is set back doesn't stop the mails.
        Time.Advance(-TimeSpan.FromHours(2));
        Assert.Equal(TimeSpan.Zero, (await Database.ClaimNotificationsAsync(two.Id, 22, 23, order, None)).StartsIn);
    }

    [Fact]
    public async Task Concurrent_claims_reserve_distinct_send_times()
    {
        const int Count = 32;
        await ImportAsync([.. Numbered(Count)]);
        var load = await MatchedAsync(Numbered(Count));
        var claims = await ConcurrentlyAsync(Count, (database, i) => database.ClaimNotificationsAsync(
            load.Id, i + 1, i + 1, new ClaimOrder($"owner {i}", Lease, 10, PerSecond: 10, MaxLeadTime: TimeSpan.FromMinutes(5)), None));
        Assert.Equal(
            Enumerable.Range(0, Count).Select(i => TimeSpan.FromSeconds(i / 10.0)), claims.Select(one => one.StartsIn).Order());
    }

    [Fact]
    public async Task Deferred_notification_is_claimed_again_when_due_and_finally_refused()
    {
        await ImportAsync([.. Numbered(3)]);
        var load = await MatchedAsync(Numbered(3));
        var pause = TimeSpan.FromMinutes(5);
        var giveUp = TimeSpan.FromDays(3);
        var claimed = await ClaimedAsync(load.Id, 1, 3);
        Assert.Equal(new NotificationOutcome(false, true), await DeferAsync(Other));
        Assert.Equal(new NotificationOutcome(true, true), await DeferAsync(Me));
        await Database.CompleteNotificationAsync(claimed[0].Id, Me, null, None);
        await Database.CompleteNotificationAsync(claimed[2].Id, Me, null, None);
        Assert.False(await Database.TryFinishLoadAsync(load.Id, None));
        Assert.Empty(await ClaimedAsync(load.Id, 1, 3));
        Assert.Null((await Database.GetMailProgressAsync(load.Id, None))!.FirstWaiting);
        Time.Advance(pause - TimeSpan.FromSeconds(1));
        Assert.Empty(await Database.EndDeferralsAsync(load.Id, 10, None));
        Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal([2], await Database.EndDeferralsAsync(load.Id, 10, None));
        Assert.Empty(await Database.EndDeferralsAsync(load.Id, 10, None));
        Assert.Equal(2, (await Database.GetMailProgressAsync(load.Id, None))!.FirstWaiting);

        var again = Assert.Single(await ClaimedAsync(load.Id, 1, 3));
        Assert.Equal((1, 1), (again.Deferrals, again.Attempts));
        Time.Advance(giveUp - pause - TimeSpan.FromSeconds(1));
        Assert.Equal(new NotificationOutcome(true, true), await DeferAsync(Me));
        Time.Advance(pause);
        // A message claims due notifications as well.
        Assert.Equal(2, Assert.Single(await ClaimedAsync(load.Id, 1, 3)).Deferrals);
        Assert.Equal(new NotificationOutcome(true, true, Refused: true), await DeferAsync(Me));
        Assert.Equal(new NotificationCounts(0, 2, 1), (await LoadAsync(load.Id)).Notifications);
        Assert.True(await Database.TryFinishLoadAsync(load.Id, None));

        Task<NotificationOutcome> DeferAsync(string owner) =>
            Database.DeferNotificationAsync(claimed[1].Id, owner, "450 4.2.1", pause, giveUp, None);
    }

    [Fact]
    public async Task Claim_attempts_are_counted_until_released_or_the_load_resumes()
    {
        await ImportAsync([.. Numbered(2)]);
        var load = await MatchedAsync(Numbered(2));
        for (var attempt = 1; attempt <= 3; attempt++)
        {
            Assert.Equal([attempt, attempt], (await ClaimedAsync(load.Id, 1, 2, $"owner {attempt}")).Select(one => one.Attempts));
            Time.Advance(Lease);
        }
        await Database.ClaimNotificationsAsync(load.Id, 1, 1, Me, Lease, None);
        await Database.ReleaseClaimsAsync(load.Id, 1, 2, Me, None);
        Assert.Equal([1, 4], (await ClaimedAsync(load.Id, 1, 2, Other)).Select(one => one.Attempts));
        await Database.FailLoadAsync(load.Id, "a fault", None);
        await Database.ResumeLoadAsync(load.Id, None);
        Assert.Equal([1, 1], (await ClaimedAsync(load.Id, 1, 2, Other)).Select(one => one.Attempts));
    }

    [Fact]
    public async Task Refusals_as_unknown_are_counted_until_a_mail_is_sent()
    {
        await ImportAsync("user1@example.com");
        MailRefusal unknown = new("550 5.1.1", IsUnknown: true), other = new("550 5.7.1");
        int[] expected = [1, 1, 2, 0, 1];
        foreach (var (i, refusal) in ((MailRefusal?[])[unknown, other, unknown, null, unknown]).Index())
        {
            var load = await MatchedAsync(Numbered(2), $"Breach{i}.zip");
            var claimed = Assert.Single(await ClaimedAsync(load.Id, 1, 1));
            Assert.False((await Database.CompleteNotificationAsync(claimed.Id, "another owner", refusal, None)).Recorded);
            Assert.Equal(
                new NotificationOutcome(Recorded: true, MayContinue: true, refusal is not null, expected[i]),
                await Database.CompleteNotificationAsync(claimed.Id, Me, refusal, None));
        }
    }
}
