namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private static readonly DateTimeOffset Published = new(2026, 3, 1, 12, 34, 56, 789, TimeSpan.Zero);

    [Fact]
    public async Task Recovered_unknown_load_is_purged_and_notifies_nobody()
    {
        await ImportAsync("user1@example.com");
        await Database.AddFirstLayoutAsync(First, isFromRegister: true, None);
        await Database.AddLayoutAsync(First with { Id = 2, Facts = Tables("two") }, None);
        var id = DatabaseSteps.DrawId();
        var order = Recovery(id, rows: 14) with { FullLayouts = [1] };
        Assert.Equal(RecoveryStep.Added, await Database.RecoverLoadAsync(order, None));
        Assert.Equal(RecoveryStep.Known, await OpenAnother().RecoverLoadAsync(order, None));

        var load = await LoadAsync(id);
        Assert.True(load is
        {
            State: LoadState.Done, Purged: true, IngestComplete: true, IsJournaled: true, AwaitsJournal: false, IsRecovered: true,
            Attempts: 0, HeldBecause: null, Error: null, Accounts: 13, LastPosition: 14, MatchedPosition: 14, Notifications.Total: 0,
            Mark: 41,
        });
        Assert.Equal(
            (Published, Published, order.StartedAt, order.Blob, 5, 1.0),
            (load.PublishedAt, load.FinishedAt, load.StartedAt, load.Blob, load.Slices.Done, load.SearchableFraction));
        Assert.Equal(order.Settings, load.Settings);
        Assert.Equal(
            order.Slices.Select(slice => (slice.Number, slice.First, slice.Last, slice.Count)),
            (await SlicesAsync(id)).Select(slice => (slice.Number, slice.First, slice.Last, slice.Count)));
        var entry = (await Database.GetJournalEntryAsync(id, None))!;
        Assert.Equal(order.Segments, entry.Segments);
        Assert.True(entry is { IsJournaled: true, Purged: true, IsComplete: true, Stopped: false, Version: 70, Generation: 2 });
        var breach = await BreachAsync("adobe");
        Assert.Equal(
            ("Adobe", "Adobe Systems", BreachFlags.Sensitive, true, order.Breach.PublishedAt),
            (breach.Name, breach.Metadata.Title, breach.Metadata.Flags, breach.Hidden, breach.PublishedAt));
        Assert.Equal([41], breach.Marks);
        Assert.Equal(order.Breach.ModifiedAt, entry.ModifiedAt);
        Assert.Equal((id.Value, 41), await HighestAsync());
        Assert.True((await Database.ReadCatalogueAsync(None)).Version > 70);

        // A recovered load behaves like a purged one.
        Assert.Equal((0, 14), (await Database.CountMissingAsync(1, None), await Database.CountMissingAsync(2, None)));
        Assert.Equal(0, await Database.PurgeRowsAsync(id, 3, None, requireJournaled: true));
        Assert.Equal([2], (await Database.RequeueSlicesAsync(id, 2, failedOnly: false, None)).Select(slice => slice.Number));
        Assert.True((await Database.BeginSliceAsync(id, 2, MaxTries, None)) is { Purged: true, Mark: 41 });
        await Database.CompleteSliceAsync(id, 2, 3, None);
        Assert.False(await Database.TryStartMatchingAsync(id, None));
        Assert.Equal(LoadState.Done, await StateAsync(id));
        Assert.Equal(11, await Database.CountMissingAsync(2, None));
        var removal = Assert.Single(await Database.BeginRemovalAsync("Adobe", None));
        Assert.True(removal is { RowsPurged: true, SharesMark: false, First: 15, Last: 14, Mark: 41 });
        Assert.Equal(RecoveryStep.Removing, await Database.RecoverLoadAsync(order, None));
        await Database.FinishRemovalAsync(id, None);
        Assert.Null(await Database.GetLoadAsync(id, None));
    }

    [Theory]
    [InlineData(LoadState.Ingesting)]
    [InlineData(LoadState.Upserting)]
    [InlineData(LoadState.Matching)]
    [InlineData(LoadState.Failed)]
    public async Task Recovery_finishes_an_open_or_failed_load_and_its_rows_can_be_purged(LoadState state)
    {
        await ImportAsync("user1@example.com");
        await Database.AddFirstLayoutAsync(First, isFromRegister: true, None);
        var load = state switch
        {
            LoadState.Ingesting => await IngestAsync(Numbered(4)),
            LoadState.Upserting => await IngestAllAsync(Numbered(4)),
            _ => await UpsertAsync(Numbered(4)),
        };
        if (state is LoadState.Matching or LoadState.Failed)
            await MatchRowsAsync(load.Id);
        if (state == LoadState.Failed)
            await Database.FailLoadAsync(load.Id, "bad", None);
        await Database.MoveOnAsync(new StoreIds(0, 0), "restored", None);
        var order = Recovery(load.Id, 14) with { Mark = load.Mark, Blob = load.Blob, Generation = 1, StartedAt = load.StartedAt };
        Assert.Equal(RecoveryStep.Finished, await Database.RecoverLoadAsync(order, None));
        Assert.Equal(4, await CountAsync("rows"));
        foreach (var rows in (int[])[4, 0])
            Assert.Equal(rows, await Database.PurgeRowsAsync(load.Id, 100, None));
        var found = await LoadAsync(load.Id);
        Assert.True(found is
        {
            State: LoadState.Done, Purged: true, IsRecovered: true, LastPosition: 14, HeldBecause: null, Error: null, LeaseExpiresAt: null,
            IsJournaled: true, PublishedAt: not null, Notifications.Total: 0, Slices.Done: 5, Slices.Total: 5,
        });
        Assert.Equal(0, await CountAsync("notifications"));
        Assert.Equal(0, await CountAsync("rows"));
        Assert.Equal(RecoveryStep.Known, await Database.RecoverLoadAsync(order, None));
        // A slice that was done keeps its layouts; differently cut slices don't belong to the recovered load.
        Assert.Equal(state is LoadState.Matching or LoadState.Failed ? 11 : 14, await Database.CountMissingAsync(1, None));
    }

    [Fact]
    public async Task Recovered_breach_metadata_applies_only_if_newer()
    {
        var load = await MatchedAsync(Numbered(4));
        await LogAsync(load.Id);
        await Database.SetHiddenAsync("Adobe", true, None);
        var version = await LogAsync(load.Id);
        var order = Known(load, version - 1);
        order = order with { Breach = order.Breach with { Hidden = false } };
        Assert.Equal(RecoveryStep.Known, await Database.RecoverLoadAsync(order, None));
        Assert.True((await Database.GetBreachAsync("Adobe", None)) is { Hidden: true, Metadata.Title: "Adobe" });

        order = Known(load, version + 5);
        order = order with { Breach = order.Breach with { Hidden = false } };
        Assert.Equal(RecoveryStep.Updated, await Database.RecoverLoadAsync(order, None));
        var breach = await BreachAsync();
        Assert.Equal(("Adobe Systems", BreachFlags.Sensitive, false), (breach.Metadata.Title, breach.Metadata.Flags, breach.Hidden));
        Assert.Equal((order.Breach.PublishedAt, 4), (breach.PublishedAt, await CountAsync("rows")));
        Assert.True(await Database.GetLoadAsync(load.Id, None) is { IsJournaled: true, IsRecovered: false, Purged: false, Accounts: 4 });

        // The load was assigned to another breach since.
        order = Known(load, version + 9, "Bold");
        Assert.Equal(RecoveryStep.Updated, await Database.RecoverLoadAsync(order, None));
        Assert.Equal([("Bold", true)], (await Database.ListBreachesAsync(None)).Select(one => (one.Name, one.Hidden)));
        Assert.Equal("Bold", (await LoadAsync(load.Id)).Breach);
        Assert.Equal(RecoveryStep.Known, await Database.RecoverLoadAsync(Known(load, version + 8, "Cash"), None));
        Assert.Equal(["Bold"], (await Database.ListBreachesAsync(None)).Select(one => one.Name));
    }

    [Fact]
    public async Task Recovered_breach_without_reported_metadata_is_hidden_and_logged_again()
    {
        var id = DatabaseSteps.DrawId();
        var order = Recovery(id);
        await Database.RecoverLoadAsync(
            order with { Breach = order.Breach with { Metadata = new BreachMetadata(), Hidden = true, IsReported = false } }, None);
        Assert.True((await BreachAsync()).Hidden);
        Assert.True(await Database.GetLoadAsync(id, None) is { AwaitsJournal: true, JournaledVersion: 70, ChangedVersion: > 70 });
    }

    [Fact]
    public async Task Recovered_replaced_load_is_unpublished_and_listed_by_its_successor()
    {
        var published = await MatchedAsync(Numbered(4));
        var (old, newer) = (DatabaseSteps.DrawId(), DatabaseSteps.DrawId());
        await Database.RecoverLoadAsync(Recovery(old) with { ReplacedBy = newer, Blob = Blob("Bold.zip"), Mark = 42 }, None);
        await Database.RecoverLoadAsync(Recovery(newer) with { Blob = Blob("Bold.zip", "\"0x2\"") }, None);
        Assert.True(await Database.GetLoadAsync(old, None) is { PublishedAt: null, State: LoadState.Done, Purged: true } replaced
            && replaced.ReplacedBy == newer);
        Assert.Equal([old], (await Database.GetJournalEntryAsync(newer, None))!.Replaces);
        Assert.Equal(RecoveryStep.Known, await Database.RecoverLoadAsync(
            Recovery(old) with { ReplacedBy = newer, Blob = Blob("Bold.zip"), Mark = 42 }, None));

        Assert.True(await Database.SetReplacedAsync(published.Id, newer, None));
        Assert.False(await Database.SetReplacedAsync(published.Id, newer, None));
        Assert.False(await Database.SetReplacedAsync(new(published.Id.Value + 1_000), newer, None));
        Assert.Equal([41], (await BreachAsync()).Marks);
        Assert.Equal(RecoveryStep.Known, await Database.RecoverLoadAsync(Known(published, 99) with { ReplacedBy = newer }, None));

        var cash = await MatchedAsync(Numbered(4), "Cash");
        Assert.Equal(RecoveryStep.Updated, await Database.RecoverLoadAsync(Known(cash, 0, "Cash") with { ReplacedBy = newer }, None));
        Assert.True((await Database.GetLoadAsync(cash.Id, None)) is { PublishedAt: null, ReplacedBy: not null });
        Assert.Equal("Cash", (await BreachAsync("Cash")).Metadata.Title); // version 0 is never newer
    }

    [Fact]
    public async Task Recovery_refuses_to_overwrite_another_load()
    {
        var load = await MatchedAsync(Numbered(4));
        var other = DatabaseSteps.DrawId();
        foreach (var (order, expected) in new[]
        {
            (Known(load, 99) with { Generation = 2 }, "another load"),
            (Known(load, 99) with { StartedAt = load.StartedAt.AddMilliseconds(1) }, "another load"),
            (Known(load, 99) with { Mark = 4_711 }, "mark 4711"),
            (Recovery(other, breach: "Bold") with { Mark = load.Mark }, $"mark {load.Mark}"),
            (Recovery(other, breach: "Bold") with { Blob = load.Blob, Generation = 1 }, $"load {load.Id}"),
        })
        {
            var refused = await RefusedAsync(() => Database.RecoverLoadAsync(order, None));
            Assert.Contains(expected, refused.Message, StringComparison.Ordinal);
            Assert.Equal(["Adobe"], (await Database.ListBreachesAsync(None)).Select(breach => breach.Name));
            Assert.Single(await Database.ListLoadsAsync(null, None));
        }
        // Loads of one breach may share a mark.
        Assert.Equal(RecoveryStep.Added, await Database.RecoverLoadAsync(Recovery(other) with { Mark = load.Mark }, None));
    }

    [Fact]
    public async Task Later_load_of_a_recovered_breach_is_held_if_it_has_mails()
    {
        await ImportAsync("user1@example.com");
        var recovered = DatabaseSteps.DrawId();
        await Database.RecoverLoadAsync(Recovery(recovered), None);
        var later = await UpsertAsync(Numbered(4), blob: Blob(etag: "\"0x77\""));
        Assert.Equal(LoadState.Held, await MatchAsync(later.Id));
        Assert.Contains($"load {recovered} ", (await LoadAsync(later.Id)).HeldBecause, StringComparison.Ordinal);
        var silent = await UpsertAsync(Numbered(4, "example.org"), blob: Blob("Adobe.2.zip"));
        Assert.Equal(LoadState.Done, await MatchAsync(silent.Id));
        var another = await UpsertAsync(Numbered(4), "Bold");
        Assert.Equal(LoadState.Notifying, await MatchAsync(another.Id));
    }

    /// <summary>Returns the recovery of a load that is published here.</summary>
    private static LoadRecovery Known(Load load, long version, string breach = "Adobe")
    {
        var order = Recovery(load.Id, breach: breach);
        return order with
        {
            Mark = load.Mark,
            Blob = load.Blob,
            Generation = 1,
            StartedAt = load.StartedAt,
            Segments = [],
            Slices = [],
            Version = version,
            Breach = order.Breach with { Version = version },
        };
    }

    /// <summary>Batches of 6 rows, slices of 3, segments of 12.</summary>
    private static LoadRecovery Recovery(LoadId load, int rows = 5, string breach = "Adobe") => new()
    {
        Load = load,
        Mark = 41,
        Blob = Blob($"{breach}.9.zip", "\"0x9\""),
        Generation = 2,
        StartedAt = Published.AddHours(-1),
        Settings = Settings,
        Rows = rows,
        Accounts = rows - 1,
        Segments = [.. Enumerable.Range(0, (rows + 11) / 12).Select(
            i => new JournalSegment(i + 1, (i * 12) + 1, Math.Min((i + 1) * 12, rows), 1_000 + i))],
        Slices = [.. Enumerable.Range(0, (rows + 2) / 3).Select(i => new Slice
        {
            Load = load,
            Number = i + 1,
            First = (i * 3) + 1,
            Last = Math.Min((i + 1) * 3, rows),
            Count = Math.Min(3, rows - (i * 3)),
            State = SliceState.Done,
        })],
        FullLayouts = [],
        Version = 70,
        PublishedAt = Published,
        ReplacedBy = null,
        Breach = new BreachRecovery
        {
            Name = breach,
            Metadata = BreachMetadata.Parse(Encoding.UTF8.GetBytes("""{"Title":"Adobe Systems","IsSensitive":true}""")),
            Hidden = true,
            PublishedAt = Published.AddDays(-3),
            ModifiedAt = Published.AddDays(2),
            Version = 70,
            IsReported = true,
        },
    };

    private static LayoutFacts Tables(string name) => new() { AccountsTable = $"accounts{name}", RangesTable = $"ranges{name}" };
}
