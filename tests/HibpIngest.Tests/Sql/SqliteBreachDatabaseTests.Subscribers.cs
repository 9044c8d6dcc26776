namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests
{
    private static readonly SuppressionKey Suppressing = SuppressionKey.Parse(Convert.ToBase64String(new byte[32]))!;

    [Fact]
    public async Task Erased_address_is_in_no_byte_of_the_file_or_its_log()
    {
        // Enough to split pages, in the order that splits them most: copies stay behind in their free space.
        const int Count = 20_000;
        var random = new Random(4711);
        var subscriptions = Enumerable.Range(0, Count).Select(i => new Subscription(EmailOf(i), i % 3 == 0 ? "d.example" : null)).ToArray();
        random.Shuffle(subscriptions);
        foreach (var chunk in subscriptions.Chunk(500))
            await Database.ImportSubscribersAsync(chunk, null, None);
        Assert.Equal(Count, (await FindAsync()).Count);

        var erased = Enumerable.Range(0, Count / 10).Select(i => i * 10).ToHashSet();
        var removed = await ForgetAsync(erased);
        Assert.Equal(erased.Count, removed.Subscriptions);
        var left = await FindAsync();
        Assert.Empty(left.Intersect(erased));
        Assert.Equal(Count - erased.Count, left.Count);
        Assert.Equal(Count - erased.Count, (await ListAsync()).Count);
        Assert.Equal("ok", await ScalarAsync("PRAGMA integrity_check"));
        Assert.Null(await ScalarAsync("SELECT 1 FROM pragma_foreign_key_check()"));
    }

    [Fact]
    public async Task Erasing_an_address_that_had_unsubscribed_leaves_no_byte_of_it()
    {
        // In order, so that removals free whole pages, which the table doesn't rewrite.
        var all = Enumerable.Range(1_000, 6_000).Select(EmailOf).ToArray();
        await Database.ImportSubscribersAsync([.. all.Select(one => new Subscription(one, null))], null, None);
        await Database.RemoveSubscribersAsync(
            [.. all[1000..4000].Select(one => new SubscriberRemoval(one, null, null))], null, erase: false, None);
        Assert.Equal(default, await ForgetAsync([1_000 + 2345]));
        var left = await FindAsync();
        Assert.DoesNotContain(1_000 + 2345, left);
        Assert.Contains(1_000 + 4345, left);
    }

    /// <summary>
    /// If a table or an index shrinks to its first page, the content from before the split stays in that page's free
    /// space.
    /// </summary>
    [Theory]
    [InlineData(100, 0, 95)]
    [InlineData(100, 71, 1)]
    [InlineData(300, 0, 295)]
    [InlineData(1_000, 0, 990)]
    [InlineData(5, 0, 5)]
    public async Task Erasing_among_few_subscribers_leaves_no_byte_of_the_addresses(int count, int unsubscribed, int forgotten)
    {
        await Database.ImportSubscribersAsync(
            [.. Enumerable.Range(0, count).Select(number => new Subscription(EmailOf(number), null))], null, None);
        await ImportAsync("user1@example.com", "user2@example.com");
        var load = await UpsertAsync(Numbered(5));
        await MatchAsync(load.Id);
        await Database.RemoveSubscribersAsync(
            [.. Enumerable.Range(0, unsubscribed).Select(number => new SubscriberRemoval(EmailOf(number), null, null))], null, erase: false,
            None);
        var erased = Enumerable.Range(unsubscribed, forgotten).ToList();
        foreach (var number in erased)
            await Database.RequestSubscriptionAsync(Guid.NewGuid(), new(EmailOf(number)), [], TimeSpan.FromDays(7), None);
        var lastId = await ScalarAsync("SELECT seq FROM sqlite_sequence WHERE name = 'subscribers'");
        Assert.Equal((long)count + 2, lastId);
        await ForgetAsync(erased);

        Assert.Empty((await FindAsync()).Intersect(erased));
        // The rest is unchanged.
        Assert.Equal(count + 2 - unsubscribed - forgotten, (await ListAsync()).Count);
        Assert.Equal(["user1@example.com", "user2@example.com"], (await NotificationsAsync(load.Id)).Select(one => one.Email).Order());
        Assert.Equal(lastId, await ScalarAsync("SELECT seq FROM sqlite_sequence WHERE name = 'subscribers'"));
        Assert.Equal(3L, await ScalarAsync("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'subscribers'"));
        Assert.Equal("ok", await ScalarAsync("PRAGMA integrity_check"));
        Assert.Null(await ScalarAsync("SELECT 1 FROM pragma_foreign_key_check()"));
    }

    private static string EmailOf(int number) => $"<{number}>@nowhere.example";

    private Task<SubscribersRemoved> ForgetAsync(IEnumerable<int> numbers) => Database.RemoveSubscribersAsync(
        [.. numbers.Select(EmailOf).Select(email => new SubscriberRemoval(
            email, null, new Suppression(Suppressing.HashOf(email), SuppressionReason.Forgotten, Now)))],
        Suppressing.Check, erase: true, None);

    /// <summary>Returns the numbers of the addresses that occur in any byte of the file or of its write-ahead log.</summary>
    private async Task<HashSet<int>> FindAsync()
    {
        var found = new HashSet<int>();
        foreach (var file in Directory.GetFiles(_folder))
        {
            await using var content = new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            using var copy = new MemoryStream();
            await content.CopyToAsync(copy);
            var emails = Patterns.Find(Encoding.Latin1.GetString(copy.ToArray()), @"<(?<found>[0-9]{1,9})>@nowhere\.example");
            found.UnionWith(emails.Select(int.Parse));
        }
        return found;
    }
}
