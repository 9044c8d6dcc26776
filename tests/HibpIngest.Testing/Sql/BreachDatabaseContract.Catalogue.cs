namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    [Fact]
    public async Task Catalogue_counts_only_published_loads()
    {
        var first = await MatchedAsync(Numbered(4));
        var second = await MatchedAsync(Numbered(3), blob: Blob("Adobe.2.zip"));
        await IngestAsync(Numbered(5), blob: Blob("Adobe.3.zip"));
        await StartAsync("Bold");

        var catalogue = await Database.ReadCatalogueAsync(None);
        Assert.Equal(["Adobe", "Bold"], catalogue.Breaches.Select(breach => breach.Breach.Name));
        var (adobe, bold) = (catalogue.Breaches[0], catalogue.Breaches[1]);
        Assert.Equal((7L, true), (adobe.Accounts, adobe.IsListed));
        Assert.Equal(["Adobe.2.zip", first.Blob.Name], adobe.Zips);
        Assert.Equal((await BreachAsync()).Marks, adobe.Breach.Marks);
        Assert.Equal((0L, false, 0), (bold.Accounts, bold.IsListed, bold.Zips.Count));

        await Database.SetHiddenAsync("Adobe", true, None);
        Assert.False((await Database.ReadCatalogueAsync(None)).Breaches[0].IsListed);
    }

    [Fact]
    public async Task Each_visible_change_raises_the_catalogue_version()
    {
        var load = await UpsertAsync(Numbered(4));
        await RaisesAsync(() => MatchAsync(load.Id));
        await RaisesAsync(() => Database.SetHiddenAsync("Adobe", true, None));
        await RaisesAsync(() => Database.SetHiddenAsync("Adobe", false, None));
        await RaisesAsync(() => MergeAsync("Adobe", """{"IsSensitive":true}""", byOperator: true));
        await RaisesAsync(() => Database.AssignLoadAsync(load.Id, "Bold", null, None));
        await RaisesAsync(() => Database.BeginRemovalAsync("Bold", None));

        async Task RaisesAsync(Func<Task> change)
        {
            var before = (await Database.ReadCatalogueAsync(None)).Version;
            await change();
            Assert.True((await Database.ReadCatalogueAsync(None)).Version > before);
        }
    }

    [Fact]
    public async Task Breach_merge_applies_only_at_the_version_read_and_raises_it()
    {
        var load = await MatchedAsync(Numbered(4));
        var (before, logged) = (await Database.ReadCatalogueAsync(None), (await Database.GetJournalEntryAsync(load.Id, None))!.Version);
        var merge = new BreachMerge("adobe", new BreachMetadata { Title = "Told" }, Hidden: true, Now.AddDays(-1));
        Assert.False(await Database.MergeBreachesAsync(before.Version - 1, [merge], 40, None));
        Assert.Equal(before.Version, (await Database.ReadCatalogueAsync(None)).Version);
        Assert.False((await BreachAsync()).Hidden);

        Assert.True(await Database.MergeBreachesAsync(before.Version, [merge], 40, None));
        var after = await Database.ReadCatalogueAsync(None);
        var breach = Assert.Single(after.Breaches);
        Assert.Equal((40, "Told", true, 40), (after.Version, breach.Breach.Metadata.Title, breach.Breach.Hidden, breach.JournalVersion));
        Assert.Equal(Now.AddDays(-1), breach.ModifiedAt);
        Assert.True((await Database.GetJournalEntryAsync(load.Id, None))!.Version > logged);
        Assert.True(await Database.MergeBreachesAsync(40, [], 39, None));
        Assert.Equal(41, (await Database.ReadCatalogueAsync(None)).Version);
    }

    [Fact]
    public async Task Load_unpublished_at_a_restore_is_held_and_published_after_its_release()
    {
        var load = await UpsertAsync(Numbered(4));
        await Database.MoveOnAsync(new StoreIds(0, 0), "restored", None);
        await MatchAsync(load.Id);
        var held = await LoadAsync(load.Id);
        Assert.Equal((LoadState.Held, null, true), (held.State, held.PublishedAt, HoldReason.IsNotPublished(held.HeldBecause)));
        Assert.False(Assert.Single((await Database.ReadCatalogueAsync(None)).Breaches).IsListed);
        Assert.True(await Database.ReleaseUnpublishedAsync(load.Id, None));
        Assert.False(await Database.ReleaseUnpublishedAsync(load.Id, None));
        Assert.Equal(LoadState.Matching, (await LoadAsync(load.Id)).State);
        await Database.FinishMatchingAsync(load.Id, new MatchEnd(null, Hold: true), None);
        Assert.NotNull((await LoadAsync(load.Id)).PublishedAt);
        Assert.False(await Database.ReleaseUnpublishedAsync(load.Id, None));
    }

    [Fact]
    public async Task Breach_modification_time_changes_with_its_published_content()
    {
        var load = await MatchedAsync(Numbered(4));
        var published = await AdobeAsync();
        Assert.Equal(published.Breach.PublishedAt, published.ModifiedAt);

        Time.Advance(TimeSpan.FromHours(1));
        await MergeAsync("Adobe", """{"Title":"Adobe Systems","Attribution":"somebody","DisclosureUrl":"https://example.com/"}""");
        var modified = await AdobeAsync();
        Assert.Equal((Now, Now.AddHours(-1)), (modified.ModifiedAt!.Value, published.ModifiedAt!.Value));
        Assert.Equal(("somebody", "https://example.com/"), (modified.Breach.Metadata.Attribution, modified.Breach.Metadata.DisclosureUrl));
        Assert.Equal(published.Breach.PublishedAt, modified.Breach.PublishedAt);

        Time.Advance(TimeSpan.FromHours(1));
        await MergeAsync("Adobe", """{"Title":"Adobe Systems"}""");
        Assert.Equal(modified.ModifiedAt, (await AdobeAsync()).ModifiedAt);

        var more = await MatchedAsync(Numbered(3), blob: Blob("Adobe.2.zip"));
        Assert.True((await AdobeAsync()).ModifiedAt > modified.ModifiedAt);

        async Task<CatalogueBreach> AdobeAsync() => Assert.Single((await Database.ReadCatalogueAsync(None)).Breaches);
    }

    [Fact]
    public async Task Catalogue_snapshot_is_of_one_version_under_concurrent_writes()
    {
        foreach (var name in (string[])["Adobe", "Bold"])
            await MatchedAsync(Numbered(2), name);
        var start = (await Database.ReadCatalogueAsync(None)).Version;
        var writer = OpenAnother();
        using var done = new CancellationTokenSource();
        var writing = Task.Run(async () =>
        {
            for (var i = 0; !done.IsCancellationRequested; i++)
                await writer.MergeMetadataAsync(
                    i % 2 == 0 ? "Adobe" : "Bold", Encoding.UTF8.GetBytes($$"""{"Title":"{{i + 1}}"}"""), byOperator: true, None);
        });
        // Reader and writer run concurrently until the reader has seen 20 versions.
        var versions = new HashSet<long>();
        try
        {
            while (versions.Count < 20)
            {
                var snapshot = await Database.ReadCatalogueAsync(None);
                // The n-th change sets its number as the title, so the version determines the titles.
                var changes = snapshot.Version - start;
                var titles = snapshot.Breaches.Select(
                    breach => int.TryParse(breach.Breach.Metadata.Title, out var title) ? title : 0);
                Assert.Equal(changes, titles.Max());
                versions.Add(snapshot.Version);
                Assert.False(writing.IsCompleted, "there is nothing new to be seen");
            }
        }
        finally
        {
            await done.CancelAsync();
            await writing;
        }
    }
}
