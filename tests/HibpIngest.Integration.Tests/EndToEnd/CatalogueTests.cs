using System.Buffers.Binary;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that the catalogue read by readers matches the database, also after crashes.</summary>
public sealed class CatalogueTests
{
    [Fact]
    public async Task Published_breach_is_listed_in_every_document()
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Site.WebUrl = "https://breaches.example.com");
        var catalogue = new RawCatalogue(rig.Context.Catalogue);
        await catalogue.AssertShowsAsync("fresh");
        Assert.Equal("null", await catalogue.ReadAsync(CatalogueDocuments.Latest));

        await rig.LoadAccountsAsync("Zoo.zip", 0, 7, """
            {"Title":"a zoo","Domain":"Example.com","BreachDate":"2024-02-29","Description":"<p onclick=x>Lost <b>all</b>",
             "DataClasses":["Passwords","Email addresses","Passwords"],"IsVerified":true,"IsSensitive":true,
             "Attribution":"nobody","DisclosureUrl":"https://example.com/x"}
            """);
        await rig.LoadAccountsAsync("Odd #1 50% \u00c4.zip", 0, 3, """{"IsRetired":true,"DataClasses":["Names"]}""");
        await rig.LoadAccountsAsync("Odd #1 50% \u00c4.2.zip", 0, 4);
        var names = new[] { "Odd #1 50% \u00c4", "Zoo" };
        await catalogue.AssertShowsAsync("published", names);

        var zoo = (await catalogue.BreachesAsync())[0];
        Assert.Equal(
            ("Zoo", "a zoo", "example.com", 7L, "<p>Lost all</p>", "https://breaches.example.com/logos/default.png"),
            (zoo.Name, zoo.Title, zoo.Domain, zoo.PwnCount, zoo.Description, zoo.LogoPath));
        Assert.Equal((true, true, false), (zoo.IsVerified, zoo.IsSensitive, zoo.IsRetired));
        Assert.Equal(("nobody", "https://example.com/x"), (zoo.Attribution, zoo.DisclosureUrl));
        Assert.Equal(["Email addresses", "Passwords"], zoo.DataClasses);
        Assert.Equal(7, (await catalogue.BreachesAsync())[1].PwnCount);
        Assert.Equal("""["Email addresses","Names","Passwords"]""", await catalogue.ReadAsync(CatalogueDocuments.DataClasses));
        Assert.Contains("Odd #1", await catalogue.ReadAsync(CatalogueDocuments.Latest), StringComparison.Ordinal);
        var ids = await catalogue.IdsAsync();
        Assert.Equal(
            (await rig.Context.Database.ListBreachesAsync(None)).Select(breach => (breach.Name, string.Join(',', breach.Marks))),
            ids.Breaches.Select(breach => (breach.Name, string.Join(',', breach.Marks))));
        Assert.Equal(BreachFlags.Verified | BreachFlags.Sensitive, ids.Breaches[1].Flags);
        Assert.Equal((await rig.Context.Database.ReadCatalogueAsync(None)).Version, ids.Version);
        Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));

        var blob = new Azure.Storage.Blobs.BlobClient(rig.Connection, "catalogue", CatalogueDocuments.Ids);
        Azure.Storage.Blobs.Models.BlobProperties found = await blob.GetPropertiesAsync();
        Assert.Equal(
            ("application/json; charset=utf-8", "gzip", "public, max-age=300"),
            (found.ContentType, found.ContentEncoding, found.CacheControl));
    }

    [Fact]
    public async Task Operator_changes_are_published_at_once_and_unchanged_documents_keep_their_etag()
    {
        await using var rig = await PipelineRig.StartAsync();
        var catalogue = new RawCatalogue(rig.Context.Catalogue);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 3);
        await rig.LoadAccountsAsync("Bold.zip", 0, 3);
        var before = (await catalogue.ListAsync()).ToDictionary(entry => entry.Name);

        var operations = rig.Context.Get<BreachOperations>();
        await operations.SetHiddenAsync("adobe", hidden: true, None);
        await catalogue.AssertShowsAsync("hidden", "Bold");
        await operations.SetHiddenAsync("adobe", hidden: false, None);
        await catalogue.AssertShowsAsync("shown", "Adobe", "Bold");
        await operations.DescribeAsync("Adobe", Encoding.UTF8.GetBytes("""{"Title":"Other"}"""), None);
        await catalogue.AssertShowsAsync("described", "Adobe", "Bold");
        Assert.Equal(["Bold", "Other"], (await catalogue.BreachesAsync()).Select(breach => breach.Title));

        var after = (await catalogue.ListAsync()).ToDictionary(entry => entry.Name);
        Assert.Equal(before["breach/Bold.json"], after["breach/Bold.json"]);
        Assert.Equal(before[CatalogueDocuments.DataClasses], after[CatalogueDocuments.DataClasses]);
        Assert.NotEqual(before["breach/Adobe.json"], after["breach/Adobe.json"]);
        var published = await rig.Context.Get<PublishCatalogue>().RunAsync(None);
        Assert.Equal((2, 0, 0), (published.Breaches, published.Written, published.Deleted));
        Assert.Equal(after, (await catalogue.ListAsync()).ToDictionary(entry => entry.Name));

        var load = (await rig.LoadsAsync())[0];
        await rig.Context.Get<AssignLoad>().RunAsync(load.Id, "Renamed", None);
        await catalogue.AssertShowsAsync("assigned", "Bold", "Renamed");
        await rig.Context.Get<RemoveBreach>().RunAsync("bold", null, None);
        await catalogue.AssertShowsAsync("removed", "Renamed");
        Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));

        // Refused changes leave no stale mark either.
        await Assert.ThrowsAsync<NotPossibleException>(() => operations.SetHiddenAsync("Bold", true, None));
        await Assert.ThrowsAsync<BadInputException>(() => operations.DescribeAsync("Renamed", "{"u8.ToArray(), None));
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.Context.Get<RemoveBreach>().RunAsync("Bold", null, None));
        Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Change_interrupted_at_any_call_is_published_by_the_next_sweep(bool afterwards)
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        var catalogue = new RawCatalogue(rig.Context.Catalogue);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 3);
        await rig.LoadAccountsAsync("Bold.zip", 0, 3);
        var hidden = false;
        var calls = 0;
        for (var at = 1; ; at++)
        {
            var point = new CrashPoint(at, afterwards);
            var died = await Record.ExceptionAsync(
                () => point.Wrap(rig.OpenContext()).Get<BreachOperations>().SetHiddenAsync("Adobe", !hidden, None));
            Assert.True(died is null or CrashException, $"{died}");
            hidden = (await rig.Context.Database.GetBreachAsync("Adobe", None))!.Hidden;
            await rig.OpenContext().SweepAsync();
            await catalogue.AssertShowsAsync($"died at call {at}: {point.Where}", hidden ? ["Bold"] : ["Adobe", "Bold"]);
            if (!point.Crashed)
                break;
            calls++;
        }
        Assert.True(calls > 8, $"{calls} calls");
        // After a while their owners count as dead.
        Assert.NotEmpty(await rig.Context.Register.ListStaleMarksAsync(None));
        clock.Advance(SweepCatalogue.MaxMarkAge);
        await rig.Context.SweepAsync();
        Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));
    }

    [Fact]
    public async Task Sweep_retries_an_abandoned_stale_mark_ever_less_often_and_then_clears_it()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(time: clock);
        Assert.True(await rig.Context.Get<StoreSetup>().IsAtRestAsync(None));
        await rig.Context.Register.SetStaleMarkAsync(clock.GetUtcNow(), None);
        Assert.False(await rig.Context.Get<StoreSetup>().IsAtRestAsync(None));
        var (minute, published) = (0, new List<int>());
        var watched = new HookedPorts((_, method) =>
        {
            if (method == nameof(ICatalogue.ReadCatalogueAsync))
                published.Add(minute);
            return Task.CompletedTask;
        });
        var sweep = watched.Wrap(rig.Context).Get<Sweep>();
        for (minute = 1; minute <= 125; minute++)
        {
            clock.Advance(TimeSpan.FromMinutes(1));
            await sweep.RunAsync(None);
        }
        // The age doubles each time, apart from the seconds that the test takes; in the end the mark is cleared.
        Assert.InRange(published.Count, 7, 10);
        Assert.Equal((1, 120), (published[0], published[^1]));
        Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Slow_writer_does_not_republish_a_hidden_breach(bool repairs)
    {
        for (var at = 1; ; at++)
        {
            await using var rig = await PipelineRig.StartAsync();
            var catalogue = new RawCatalogue(rig.Context.Catalogue);
            await rig.LoadAccountsAsync("Adobe.zip", 0, 3);
            await rig.LoadAccountsAsync("Bold.zip", 0, 3);
            if (repairs)
            {
                // The writer repairs a damaged document of the published state.
                var bold = Assert.Single(await catalogue.ListAsync("breach/Bold"));
                await rig.Context.Catalogue.DeleteAsync(bold.Name, bold.ETag, None);
            }
            else
            {
                await rig.Context.Database.SetHiddenAsync("Bold", true, None);
                await rig.Context.Get<PublishCatalogue>().RunAsync(None);
                await rig.Context.Database.SetHiddenAsync("Bold", false, None);
            }

            // The slow writer has read that Bold is visible; before its Nth write, Bold is hidden again and published so.
            var calls = 0;
            var slow = rig.OpenContext();
            slow = slow with
            {
                Catalogue = PortProxy<ICatalogueBlobs>.Create(slow.Catalogue, async _ =>
                {
                    if (++calls == at)
                    {
                        await rig.Context.Database.SetHiddenAsync("Bold", true, None);
                        await rig.Context.Get<PublishCatalogue>().RunAsync(None);
                    }
                }),
            };
            await slow.Get<PublishCatalogue>().RunAsync(None);
            if (calls < at)
                break;
            await catalogue.AssertShowsAsync($"overtaken before call {at}", "Adobe");
            Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));
        }
    }

    [Fact]
    public async Task Load_completes_while_the_catalogue_is_down_and_hiding_reports_the_failure()
    {
        await using var rig = await PipelineRig.StartAsync();
        var catalogue = new RawCatalogue(rig.Context.Catalogue);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 3);
        var down = rig.OpenContext();
        down = down with
        {
            Catalogue = PortProxy<ICatalogueBlobs>.Create(
                down.Catalogue, method => method == nameof(ICatalogueBlobs.WriteAsync)
                    ? throw new UnavailableException("writing failed: status 503") : Task.CompletedTask),
        };
        await rig.DropAccountsAsync("Bold.zip", 0, 3);
        await PipelineRig.RunToEndAsync(down);
        Assert.All(await rig.LoadsAsync(), load => Assert.Equal(LoadState.Done, load.State));
        Assert.True((await rig.DepthsAsync()).Values.All(depth => depth == 0));
        await catalogue.AssertShowsAsync("down", "Adobe");

        var behind = await Assert.ThrowsAsync<CatalogueBehindException>(
            () => down.Get<BreachOperations>().SetHiddenAsync("adobe", true, None));
        Assert.Contains("Adobe is hidden, but", behind.Message, StringComparison.Ordinal);
        Assert.Contains("still shown", behind.Message, StringComparison.Ordinal);
        Assert.Contains("hibp catalogue publish", behind.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<CatalogueBehindException>(() => down.Get<RemoveBreach>().RunAsync("Adobe", null, None));
        Assert.Equal(3, (await rig.TableAsync()).Count); // no account is changed while readers see the breach
        await down.SweepAsync();
        Assert.Equal(3, (await rig.Context.Register.ListStaleMarksAsync(None)).Count);

        await rig.Context.SweepAsync();
        await catalogue.AssertShowsAsync("up again", "Bold");
        await rig.Context.Get<RemoveBreach>().RunAsync("Adobe", null, None);
        Assert.Null(await rig.Context.Database.GetBreachAsync("Adobe", None));
    }

    [Fact]
    public async Task Logo_next_to_the_zip_is_published_and_outlives_its_blob()
    {
        await using var rig = await PipelineRig.StartAsync();
        var catalogue = new RawCatalogue(rig.Context.Catalogue);
        await PutAsync("in/Adobe.png", Png(1_024, 1));
        await PutAsync("in/Bold.png", Png(1_025, 1));
        await PutAsync("in/Cold.png", new byte[LogoImage.MaxBytes + 1]);
        await PutAsync("in/D #1.png", Png(2, 2));
        await PutAsync("Adobe.png", Png(3, 3));
        foreach (var name in (string[])["Adobe", "Bold", "Cold", "D #1"])
            await rig.LoadAccountsAsync($"in/{name}.zip", 0, 1);
        Assert.Equal(
            ["/logos/Adobe.png", "/logos/default.png", "/logos/default.png", "/logos/D%20%231.png"],
            (await catalogue.BreachesAsync()).Select(breach => breach.LogoPath["http://127.0.0.1:8080".Length..]));
        Assert.Equal(Png(1_024, 1), await LogoAsync());
        Assert.Equal(
            ["logo/Adobe.png", "logo/D #1.png"], (await catalogue.ListAsync(CatalogueDocuments.Logos)).Select(entry => entry.Name));

        // A newer load's logo takes precedence over an older one's; an invalid one is ignored.
        await PutAsync("in/Adobe.2.png", Png(5, 5));
        await rig.LoadAccountsAsync("in/Adobe.2.zip", 0, 1);
        Assert.Equal(Png(5, 5), await LogoAsync());
        await PutAsync("in/Adobe.2.png", Png(5, 0));
        await rig.Context.Get<PublishCatalogue>().RunAsync(None);
        Assert.Equal(Png(1_024, 1), await LogoAsync());

        // The blobs next to the zip are empty; the published logo stays.
        await PutAsync("in/Adobe.2.png", []);
        await PutAsync("in/Adobe.png", []);
        await rig.Context.Get<PublishCatalogue>().RunAsync(None);
        Assert.Equal(Png(1_024, 1), await LogoAsync());
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None);
        Assert.Equal(["logo/D #1.png"], (await catalogue.ListAsync(CatalogueDocuments.Logos)).Select(entry => entry.Name));

        async Task<byte[]> LogoAsync() =>
            (await rig.Context.Catalogue.ReadAsync(CatalogueDocuments.Logo("Adobe"), null, None))!.Bytes.ToArray();

        Task PutAsync(string name, byte[] content) => rig.Context.Blobs.WriteSmallAsync(name, content, None);
    }

    private static byte[] Png(uint width, uint height)
    {
        var png = new byte[40];
        ((byte[])[137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82]).CopyTo(png, 0);
        BinaryPrimitives.WriteUInt32BigEndian(png.AsSpan(16), width);
        BinaryPrimitives.WriteUInt32BigEndian(png.AsSpan(20), height);
        return png;
    }
}
