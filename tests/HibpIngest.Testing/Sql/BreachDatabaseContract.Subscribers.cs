namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private static readonly SuppressionKey Hashes = SuppressionKey.Parse(Convert.ToBase64String(new byte[32]))!;

    [Fact]
    public async Task Suppressed_subscriptions_lose_their_mails_and_are_not_imported_again()
    {
        await ImportAsync(
            "user1@example.com", "user1@example.com for example.com", "user2@example.com for example.com",
            "user2@example.com for example.org", "user3@example.com");
        var load = await UpsertAsync(Numbered(5));
        Assert.Equal(LoadState.Notifying, await MatchAsync(load.Id));
        Assert.Equal(4, (await NotificationsAsync(load.Id)).Count);
        var at = Now;

        Assert.Equal(
            new SubscribersRemoved(3, 3),
            await Database.RemoveSubscribersAsync(
                [
                    new(" User1@Example.com ", null, new(Hashes.HashOf("user1@example.com"), SuppressionReason.Forgotten, at)),
                    new(
                        "user2@example.com", "example.com",
                        new(Hashes.HashOf("user2@example.com", "example.com"), SuppressionReason.Unsubscribed, at)),
                    new("nobody@example.com", null, new(Hashes.HashOf("nobody@example.com"), SuppressionReason.Bounced, at)),
                ],
                Hashes.Check, erase: true, None));
        Assert.Equal(["user3@example.com"], (await NotificationsAsync(load.Id)).Select(one => one.Email));
        Assert.Equal([new("user2@example.com", "example.org"), new("user3@example.com", null)], await ListAsync());
        Assert.Equal(Hashes.Check, await Database.GetSuppressionKeyCheckAsync(None));
        Assert.Equal(
            [
                new(Hashes.HashOf("user1@example.com"), SuppressionReason.Forgotten, at),
                new(Hashes.HashOf("user2@example.com", "example.com"), SuppressionReason.Unsubscribed, at),
                new Suppression(Hashes.HashOf("nobody@example.com"), SuppressionReason.Bounced, at),
            ],
            (await Database.ListSuppressionsAsync(None)).OrderBy(one => one.Reason == SuppressionReason.Forgotten ? -1 : (int)one.Reason));

        Subscription[] all =
        [
            new("USER1@example.com", null), new("user1@example.com", "other.example"), new("user2@example.com", "Example.com"),
            new("user2@example.com", null), new("nobody@example.com", null), new("user3@example.com", null),
        ];
        Assert.Equal(new SubscribersImported(1, 4), await Database.ImportSubscribersAsync(all, Hashes, None));
        Assert.Equal(3, (await ListAsync()).Count);
        await RefusedAsync(() => Database.ImportSubscribersAsync(all, null, None));
        var other = SuppressionKey.Parse(Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]))!;
        await Assert.ThrowsAsync<StoreMismatchException>(() => Database.ImportSubscribersAsync(all, other, None));
        await Assert.ThrowsAsync<StoreMismatchException>(() => Database.RemoveSubscribersAsync([], other.Check, erase: false, None));

        await Database.LiftSuppressionsAsync([Hashes.HashOf("user1@example.com")], None);
        Assert.Equal(new SubscribersImported(2, 2), await Database.ImportSubscribersAsync(all, Hashes, None));
    }

    [Fact]
    public async Task Suppression_hashes_alone_remove_the_subscriptions_they_match()
    {
        await ImportAsync(
            "user1@example.com", "user1@example.com for example.com", "user2@example.com for example.com", "user2@example.com");
        var load = await MatchedAsync(Numbered(5));
        Suppression Of(string hash) => new(hash, SuppressionReason.Forgotten, Now);
        Suppression[] suppressions =
        [
            Of(Hashes.HashOf("user1@example.com")), Of(Hashes.HashOf("user2@example.com", "example.com")),
            Of(Hashes.HashOf("user3@example.com")),
        ];
        Assert.Equal(new SubscribersRemoved(3, 3), await Database.ApplySuppressionsAsync(suppressions, Hashes, erase: true, None));
        Assert.Equal(["user2@example.com"], (await NotificationsAsync(load.Id)).Select(one => one.Email));
        Assert.Equal(
            suppressions.Select(one => one.Hash).Order(), (await Database.ListSuppressionsAsync(None)).Select(one => one.Hash).Order());
        // user3 was never subscribed; only its suppression keeps it from being imported.
        Assert.Equal(
            new SubscribersImported(0, 2),
            await Database.ImportSubscribersAsync([new("user3@example.com", null), new("user1@example.com", null)], Hashes, None));
        var other = SuppressionKey.Parse(Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]))!;
        await Assert.ThrowsAsync<StoreMismatchException>(() => Database.ApplySuppressionsAsync(suppressions, other, erase: false, None));
    }

    [Fact]
    public async Task Subscriber_removed_without_a_reason_can_be_imported_again()
    {
        await ImportAsync("user1@example.com", "user1@example.com for example.com", "user2@example.com");
        foreach (var domain in (string?[])["example.com", null])
        {
            var removed = await Database.RemoveSubscribersAsync([new("user1@example.com", domain, null)], null, erase: false, None);
            Assert.Equal(new SubscribersRemoved(1, 0), removed);
        }
        Assert.Null(await Database.GetSuppressionKeyCheckAsync(None));
        Assert.Equal(new SubscribersImported(1, 0), await ImportAsync("user1@example.com"));
        var load = await MatchedAsync(Numbered(5));
        Assert.Equal(["user1@example.com", "user2@example.com"], (await NotificationsAsync(load.Id)).Select(one => one.Email).Order());
    }
}
