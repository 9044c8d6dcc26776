namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private static readonly StoreLayout First = new() { Id = 1, Ranges = RangesState.On };

    [Fact]
    public async Task First_layout_wins_and_raises_the_version()
    {
        Assert.Equal((0, 0), Shown(await Database.GetLayoutsAsync(None)));
        var first = Layout(1, "one");
        Assert.NotEqual(First, first);
        var added = await Database.AddFirstLayoutAsync(first, isFromRegister: false, None);
        Assert.Equal(first, Assert.Single(added.Layouts));
        Assert.Equal((1, 1), Shown(added));
        Assert.Equal(
            (1, 1), Shown(await OpenAnother().AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, isFromRegister: true, None)));
        Assert.Equal(first, Assert.Single((await Database.GetLayoutsAsync(None)).Layouts));

        static (int, int) Shown(LayoutSet set) => (set.Version, set.Layouts.Count);
    }

    [Fact]
    public async Task First_layouts_added_concurrently_agree()
    {
        var sets = await ConcurrentlyAsync(6, (database, i) =>
            database.AddFirstLayoutAsync(First with { Ranges = (RangesState)(i % 2 * 2) }, isFromRegister: false, None), processes: 6);
        Assert.Single(sets.Select(set => Assert.Single(set.Layouts)).Distinct());
    }

    [Theory]
    [InlineData(false, RangesState.Off)]
    [InlineData(true, RangesState.On)]
    public async Task Ranges_of_a_first_layout_with_accounts_start_off_unless_filled(bool filled, RangesState expected)
    {
        await IngestAsync(Numbered(4)); // assigns a mark
        Assert.Equal(expected, Assert.Single((await Database.AddFirstLayoutAsync(First, filled, None)).Layouts).Ranges);
    }

    [Fact]
    public async Task Ranges_only_rise_raising_the_version_and_backfill_progress_is_recorded_only_meanwhile()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, isFromRegister: false, None);
        var step = 0;
        foreach (var (state, version, becomes, recorded) in new[]
        {
            (RangesState.Off, 1, RangesState.Off, (string?)null), (RangesState.Filling, 2, RangesState.Filling, "step 2"),
            (RangesState.Filling, 2, RangesState.Filling, "step 3"), (RangesState.Off, 2, RangesState.Filling, "step 4"),
            (RangesState.On, 3, RangesState.On, "step 4"), (RangesState.Filling, 3, RangesState.On, "step 4"),
        })
        {
            var set = await Database.RaiseRangesAsync(1, state, None);
            Assert.Equal((version, becomes), (set.Version, Assert.Single(set.Layouts).Ranges));
            await Database.SetRangesFillAsync(1, $"step {++step}", None);
            Assert.Equal(recorded, await Database.GetRangesFillAsync(1, None));
        }
        Assert.Equal(3, (await Database.RaiseRangesAsync(2, RangesState.On, None)).Version); // doesn't exist
        Assert.Null(await Database.GetRangesFillAsync(2, None));
    }

    [Fact]
    public async Task Slice_completes_only_in_the_current_layout_version()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, isFromRegister: false, None);
        var load = await IngestAllAsync(Numbered(4));
        var work = (await BeginAsync(load.Id, 1))!;
        Assert.Equal((1, false), (work.Layouts.Version, work.Layouts.WritesRanges));
        await OpenAnother().RaiseRangesAsync(1, RangesState.Filling, None);

        // The slice isn't done; its owner keeps the lease, and learns what to write.
        var ended = await Database.CompleteSliceAsync(load.Id, 1, Me, 3, work.Layouts.Version, None);
        Assert.Equal((false, 2, true), (ended.IsDone, ended.Layouts!.Version, ended.Layouts.WritesRanges));
        var slice = (await SlicesAsync(load.Id))[0];
        Assert.Equal((SliceState.Pending, 1), (slice.State, slice.Attempts));
        Assert.True(await RenewAsync(load.Id, 1, Me, null));
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));

        // A worker that lost the lease learns nothing of the layouts.
        Assert.Equal(SliceCompletion.Lost, await Database.CompleteSliceAsync(load.Id, 1, Other, 3, work.Layouts.Version, None));
        Assert.Equal(SliceCompletion.Lost, await Database.CompleteSliceAsync(load.Id, 1, Other, 3, ended.Layouts.Version, None));
        Assert.Equal(SliceCompletion.Done, await Database.CompleteSliceAsync(load.Id, 1, Me, 3, ended.Layouts.Version, None));
        Assert.Equal(SliceCompletion.Lost, await Database.CompleteSliceAsync(load.Id, 1, Me, 3, ended.Layouts.Version, None));
        Assert.Equal(2, (await BeginAsync(load.Id, 2))!.Layouts.Version);
    }

    [Fact]
    public async Task Concurrent_layout_change_leaves_no_slice_done_in_the_old_version()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, isFromRegister: false, None);
        var load = await IngestAllAsync(Numbered(30)); // ten slices
        var begun = new List<int>();
        for (var slice = 1; slice <= 10; slice++)
            begun.Add((await BeginAsync(load.Id, slice))!.Layouts.Version);
        var raised = 0L;
        var another = OpenAnother();
        var changing = Task.Run(async () =>
        {
            await another.RaiseRangesAsync(1, RangesState.Filling, None);
            Interlocked.Exchange(ref raised, 1);
        });
        await ConcurrentlyAsync(begun.Count, async (database, i) =>
        {
            var before = Interlocked.Read(ref raised);
            var ended = await database.CompleteSliceAsync(load.Id, i + 1, Me, 3, begun[i], None);
            Assert.False(ended.IsDone && before == 1, $"slice {i + 1} was done in the old set");
            return ended;
        }, processes: begun.Count);
        await changing;
        foreach (var slice in (await SlicesAsync(load.Id)).Where(slice => slice.State != SliceState.Done))
            Assert.True((await Database.CompleteSliceAsync(load.Id, slice.Number, Me, 3, 2, None)).IsDone);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
    }

    [Fact]
    public async Task Adding_or_dropping_a_layout_raises_the_version()
    {
        await Database.AddFirstLayoutAsync(First, isFromRegister: false, None);
        var second = Layout(2, "two");
        var set = await Database.AddLayoutAsync(second, None);
        Assert.Equal(2, set.Version);
        Assert.Equal([First, second], set.Layouts);
        Assert.Equal(2, (await OpenAnother().AddLayoutAsync(second, None)).Version); // repeated
        foreach (var taken in (StoreLayout[])[Layout(2, "three"), Layout(3, "two"), second with { Ranges = RangesState.Off, Id = 1 }])
            await Assert.ThrowsAsync<NotPossibleException>(() => Database.AddLayoutAsync(taken, None));
        Assert.Equal(2, (await Database.GetLayoutsAsync(None)).Version);

        set = await Database.DropLayoutAsync(1, None);
        Assert.Equal(3, set.Version);
        Assert.Equal([second], set.Layouts);
        Assert.Equal(3, (await Database.DropLayoutAsync(1, None)).Version); // repeated
        Assert.Equal(3, (await Database.DropLayoutAsync(2, None)).Version); // the only one
        Assert.Equal(3, (await Database.DropLayoutAsync(7, None)).Version); // doesn't exist
        Assert.Equal(3, (await Database.RaiseRangesAsync(1, RangesState.On, None)).Version);
        Assert.Equal([First with { IsDropped = true }, second], await Database.ListLayoutsAsync(None));
        var refused = await Assert.ThrowsAsync<NotPossibleException>(
            () => Database.AddLayoutAsync(First with { Id = 4 }, None));
        Assert.Contains("its name can't be reused", refused.Message, StringComparison.Ordinal);
        Assert.Equal([second], (await Database.GetLayoutsAsync(None)).Layouts);
    }

    [Fact]
    public async Task Layouts_added_concurrently_under_one_name_leave_one()
    {
        await Database.AddFirstLayoutAsync(First, isFromRegister: false, None);
        var added = await ConcurrentlyAsync(
            6, (database, i) => Record.ExceptionAsync(() => database.AddLayoutAsync(Layout(i + 2, "two"), None)), processes: 6);
        Assert.Single(added, error => error is null);
        Assert.All(added.OfType<Exception>(), error => Assert.IsType<NotPossibleException>(error));
        Assert.Equal(2, (await Database.GetLayoutsAsync(None)).Layouts.Count);
    }

    [Fact]
    public async Task Added_layout_misses_every_row_of_published_loads_until_replayed_or_removed()
    {
        await Database.AddFirstLayoutAsync(First, isFromRegister: false, None);
        var counts = await MatchedAsync(Numbered(5));
        var replaced = await MatchedAsync(Numbered(4), "Bold");
        var next = await MatchedAsync(Numbered(2), "Bold", Blob("Bold.zip", "\"0x2\""));
        await Database.AddLayoutAsync(Layout(2, "two"), None);
        Assert.Equal(5 + 2, await Database.CountMissingAsync(2, None));
        Assert.Equal([new(counts.Id, 5), new(next.Id, 2)], await Database.ListMissingAsync(2, None));
        Assert.Empty(await Database.ListMissingAsync(1, None));
        foreach (var (rows, missing) in new[] { (2, 5), (1, 6) })
        {
            await Database.SetBackfilledAsync(2, next.Id, rows, withRanges: true, None);
            Assert.Equal(missing, await Database.CountMissingAsync(2, None));
        }
        await Database.BeginRemovalAsync("Bold", None);
        Assert.Equal(5, await Database.CountMissingAsync(2, None));
        await Database.RemoveBreachAsync("Bold", None);
        Assert.Equal([counts.Id], (await Database.ListLoadsAsync(null, None)).Select(load => load.Id));
        await Database.RequeueSlicesAsync(counts.Id, null, failedOnly: false, None);
        Assert.Equal(5, await Database.CountMissingAsync(2, None));
        await Database.SetBackfilledAsync(2, counts.Id, 5, withRanges: true, None);
        Assert.Equal(0, await Database.CountMissingAsync(2, None));
    }

    [Fact]
    public async Task Added_layout_misses_rows_of_done_slices_until_they_are_written_to_it()
    {
        await Database.AddFirstLayoutAsync(First, isFromRegister: false, None);
        var load = await IngestAllAsync(Numbered(9)); // three slices
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        await BeginAsync(load.Id, 2);
        Assert.Equal(0, await Database.CountMissingAsync(1, None));
        await Database.AddLayoutAsync(Layout(2, "two"), None);
        Assert.Equal((0, 3), (await Database.CountMissingAsync(1, None), await Database.CountMissingAsync(2, None)));

        // A slice that had begun is written to the new layout too, and so are all slices completed later.
        var ended = await Database.CompleteSliceAsync(load.Id, 2, Me, 3, layoutVersion: 1, None);
        Assert.Equal(2, ended.Layouts!.Layouts.Count);
        Assert.True((await Database.CompleteSliceAsync(load.Id, 2, Me, 3, ended.Layouts.Version, None)).IsDone);
        await Database.CompleteSliceAsync(load.Id, 3, 3, None);
        Assert.Equal(3, await Database.CountMissingAsync(2, None));
        Assert.Equal([(1L, 3L)], await Database.ListMissingSlicesAsync(2, load.Id, None));
        Assert.Empty(await Database.ListMissingSlicesAsync(1, load.Id, None));

        foreach (var (rows, missing) in new[] { (2, 1), (2, 1), (3, 0), (9, 0), (1, 2) })
        {
            await Database.SetBackfilledAsync(2, load.Id, rows, withRanges: true, None);
            Assert.Equal(missing, await Database.CountMissingAsync(2, None));
        }
        // A slice written again is no longer missing, and the replay recorded before isn't subtracted a second time.
        await Database.RequeueSlicesAsync(load.Id, 1, failedOnly: false, None);
        Assert.Equal(0, await Database.CountMissingAsync(2, None)); // pending: will be written to it
        await Database.CompleteSliceAsync(load.Id, 1, 3, None);
        Assert.Equal(0, await Database.CountMissingAsync(2, None));
        Assert.Equal(0, await Database.CountMissingAsync(3, None)); // doesn't exist
        await Database.SetBackfilledAsync(3, load.Id, 1, withRanges: true, None);
    }

    [Fact]
    public async Task Added_layout_misses_requeued_slices_that_a_partial_replay_skipped()
    {
        await Database.AddFirstLayoutAsync(First, isFromRegister: false, None);
        var load = await UpsertAsync(Numbered(9)); // three slices
        await MatchAsync(load.Id);
        foreach (var slice in new[] { 2, 3 })
            await Database.RequeueSlicesAsync(load.Id, slice, failedOnly: false, None);
        await Database.AddLayoutAsync(Layout(2, "two"), None);
        Assert.Equal([(1L, 3L)], await Database.ListMissingSlicesAsync(2, load.Id, None));
        await Database.SetBackfilledAsync(2, load.Id, 3, withRanges: true, None);
        Assert.Equal(6, await Database.CountMissingAsync(2, None));

        // A replayed slice is written again, and doesn't stand for other slices' rows.
        await Database.RequeueSlicesAsync(load.Id, null, failedOnly: false, None);
        foreach (var (slice, missing) in new[] { (1, 6), (2, 3), (3, 0) })
        {
            await Database.CompleteSliceAsync(load.Id, slice, 3, None);
            Assert.Equal(missing, await Database.CountMissingAsync(2, None));
        }
    }

    [Fact]
    public async Task Rebuild_progress_is_recorded_until_the_rebuild_ends()
    {
        await Database.AddFirstLayoutAsync(First, isFromRegister: false, None);
        await Database.AddLayoutAsync(Layout(2, "two"), None);
        Assert.Null(await Database.GetRebuildAsync(2, None));
        await Database.SetRebuildAsync(2, "here", None);
        Assert.Equal(("here", null), (await OpenAnother().GetRebuildAsync(2, None), await Database.GetRebuildAsync(1, None)));
        await Database.SetRebuildAsync(2, null, None);
        Assert.Null(await Database.GetRebuildAsync(2, None));
        await Database.DropLayoutAsync(2, None);
        await Database.SetRebuildAsync(2, "too late", None);
        Assert.Null(await Database.GetRebuildAsync(2, None));
    }

    private static StoreLayout Layout(int id, string name) => new()
    {
        Id = id,
        Ranges = RangesState.On,
        Facts = new LayoutFacts
        {
            AccountsTable = $"accounts{name}",
            RangesTable = $"ranges{name}",
            StorageAccounts = [id, 5, 4],
            SpreadDomains = new Dictionary<string, int> { ["gmail.com"] = 32, ["yahoo.com"] = 8 },
        },
    };
}
