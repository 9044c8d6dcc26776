namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Breach_is_found_changed_and_hidden_by_its_name_in_any_case()
    {
        var all = new BreachMetadata
        {
            Name = "Ärger",
            Title = "Ärger & \"Zorn\"",
            Domain = "example.de",
            BreachDate = new DateOnly(2013, 10, 4),
            Description = "<em>a</em>\nb",
            DataClasses = ["Email addresses", "Passwords"],
            Flags = BreachFlags.Verified | BreachFlags.StealerLog,
            Notify = NotifyMode.Hold,
        };
        Assert.Null(await Database.GetBreachAsync("Ärger", None));
        var first = await Database.StartLoadAsync("Ärger", all, Blob("1.zip"), Settings, null, None);
        var second = await Database.StartLoadAsync("äRGER", all, Blob("2.zip"), Settings, null, None);
        await StartAsync("Adobe");
        Assert.Equal("Ärger", second.Breach);
        Assert.Equal(["Adobe", "Ärger"], (await Database.ListBreachesAsync(None)).Select(breach => breach.Name));
        Assert.Equal([first.Id, second.Id], (await Database.ListLoadsAsync("ÄRGER", None)).Select(load => load.Id));
        Assert.Equal(3, (await Database.ListLoadsAsync(null, None)).Count);
        var found = await BreachAsync("ärger");
        Assert.Equivalent(all, found.Metadata, strict: true);
        Assert.Equal((false, null), (found.Hidden, found.PublishedAt));
        Assert.Empty(found.Marks);

        await MergeAsync("ÄRGER", """{"Title":"calm"}""");
        Assert.Equal("calm", (await BreachAsync("Ärger")).Metadata.Title);
        await RefusedAsync(() => MergeAsync("nothing", "{}"));
        Assert.True(await Database.SetHiddenAsync("äRGER", true, None));
        Assert.True((await BreachAsync("Ärger")).Hidden);
        Assert.True(await Database.SetHiddenAsync("Ärger", false, None));
        Assert.False((await BreachAsync("Ärger")).Hidden);
        Assert.False(await Database.SetHiddenAsync("nothing", true, None));
    }

    [Fact]
    public async Task Documents_merged_concurrently_are_all_applied()
    {
        await StartAsync();
        var another = OpenAnother();
        string[] documents =
        [
            """{"Title":"Adobe Systems"}""", """{"Domain":"adobe.com"}""", """{"BreachDate":"2013-10-04"}""", """{"Description":"lost"}""",
            """{"DataClasses":["Passwords"]}""", """{"IsSensitive":true}""", """{"IsVerified":true}""", """{"IsMalware":true}""",
        ];
        await Task.WhenAll(
            documents.Select((document, i) => Task.Run(() => MergeAsync("Adobe", document, database: i % 2 == 0 ? Database : another))));
        var metadata = (await BreachAsync()).Metadata;
        Assert.Equal(
            ("Adobe Systems", "adobe.com", new DateOnly(2013, 10, 4), "lost"),
            (metadata.Title, metadata.Domain, metadata.BreachDate!.Value, metadata.Description));
        Assert.Equal(BreachFlags.Sensitive | BreachFlags.Verified | BreachFlags.Malware, metadata.Flags);
        Assert.Equal(["Passwords"], metadata.DataClasses);
    }

    [Fact]
    public async Task Only_an_operators_document_clears_a_flag()
    {
        await StartAsync();
        await MergeAsync("Adobe", """{"IsSensitive":true,"Title":"Adobe"}""");
        await MergeAsync("Adobe", """{"IsSensitive":false,"IsVerified":true}""");
        await Database.StartLoadAsync("Adobe", new BreachMetadata { Title = "Adobe" }, Blob("Adobe.2.zip"), Settings, null, None);
        Assert.Equal(BreachFlags.Sensitive | BreachFlags.Verified, (await BreachAsync()).Metadata.Flags);
        await MergeAsync("Adobe", """{"IsSensitive":false}""", byOperator: true);
        Assert.Equal(BreachFlags.Verified, (await BreachAsync()).Metadata.Flags);
        var unreadable = await Assert.ThrowsAsync<BadInputException>(() => MergeAsync("Adobe", """{"IsSensitive":"no"}"""));
        Assert.Contains("issensitive", unreadable.Message, StringComparison.Ordinal);
    }

    private Task MergeAsync(string breach, string document, bool byOperator = false, IBreachDatabase? database = null) =>
        (database ?? Database).MergeMetadataAsync(breach, Encoding.UTF8.GetBytes(document), byOperator, None);

    [Fact]
    public async Task Removing_a_breach_deletes_its_data_and_no_other_breachs()
    {
        await ImportAsync("user1@example.com", "boss@example.org for example.com");
        var other = await MatchedAsync(Numbered(4), "Bold");
        var kept = await NotificationsAsync(other.Id);
        Assert.Equal(2, kept.Count);

        var load = await UpsertAsync(Numbered(7));
        var failed = await Database.StartLoadAsync("Adobe", new BreachMetadata(), Blob("Adobe.2.zip"), Settings, "bad", None);
        await RefusedAsync(() => Database.RemoveBreachAsync("Adobe", None));
        Assert.Equal(11, await CountAsync("rows"));
        await MatchAsync(load.Id, hold: true);
        Assert.Equal(4, await CountAsync("notifications"));
        await Database.RemoveBreachAsync("aDOBE", None);

        Assert.Null(await Database.GetBreachAsync("Adobe", None));
        Assert.Null(await Database.GetLoadAsync(load.Id, None));
        Assert.Null(await Database.GetLoadAsync(failed.Id, None));
        Assert.Null(await Database.BeginSliceAsync(load.Id, 1, MaxTries, None));
        Assert.Empty(await NotificationsAsync(load.Id));
        Assert.Equal((4, 2, 1), (await CountAsync("rows"), await CountAsync("slices"), await CountAsync("loads")));
        Assert.Equal(kept, await NotificationsAsync(other.Id));
        await RefusedAsync(() => Database.RemoveBreachAsync("Adobe", None));

        // A new upload creates a new breach, and everyone is notified again.
        var again = await UpsertAsync(Numbered(7));
        Assert.True(again.Id.Value > failed.Id.Value);
        Assert.Equal(LoadState.Notifying, await MatchAsync(again.Id));
        Assert.Equal(2, (await NotificationsAsync(again.Id)).Count);
    }

    [Fact]
    public async Task Subscriptions_are_unique_after_trimming_and_lower_casing()
    {
        Assert.Equal(new SubscribersImported(3, 0), await Database.ImportSubscribersAsync(
            [
                new(" B@Example.com ", null),
                new("a@example.com", "Example.COM"),
                new("b@example.com", ""),
                new("b@example.com", "example.com"),
                new("B@EXAMPLE.COM", " example.com "),
            ],
            null, None));
        Assert.Equal(new SubscribersImported(1, 0), await ImportAsync("b@example.com", "c@example.com"));
        Assert.Equal(
            [new("a@example.com", "example.com"), new("b@example.com", null), new("b@example.com", "example.com"),
                new("c@example.com", null)],
            await ListAsync());
    }

    [Fact]
    public async Task Subscribers_are_listed_in_order()
    {
        var subscriptions = Enumerable.Range(0, 2_500)
            .Select(i => new Subscription($"user{i:D4}@example.com", i % 2 == 0 ? null : "example.com")).ToList();
        Assert.Equal(
            new SubscribersImported(subscriptions.Count, 0),
            await Database.ImportSubscribersAsync([.. subscriptions.AsEnumerable().Reverse()], null, None));
        Assert.Equal(subscriptions, await ListAsync());
    }

    [Fact]
    public async Task Import_that_fails_midway_adds_no_subscriber()
    {
        await FailInsertsAsync("subscribers");
        await Assert.ThrowsAnyAsync<Exception>(() => ImportAsync("a@example.com", "b@example.com"));
        await RepairInsertsAsync("subscribers");
        Assert.Empty(await ListAsync());
        await ImportAsync("a@example.com");
        Assert.Single(await ListAsync());
    }

    protected async Task<List<Subscription>> ListAsync() => await Database.ListSubscribersAsync(None).ToListAsync();
}
