using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private static readonly StoreLayout First = new() { Id = 1, Ranges = RangesState.On };

    [Fact]
    public async Task The_first_layout_counts_and_raises_the_version()
    {
        Assert.Equal((0, 0), Shown(await Database.GetLayoutsAsync(None)));
        var added = await Database.AddFirstLayoutAsync(First, filled: false, None);
        Assert.Equal(First, Assert.Single(added.Layouts));
        Assert.Equal((1, 1), Shown(added));
        Assert.Equal((1, 1), Shown(await OpenAnother().AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, filled: true, None)));
        Assert.Equal(First, Assert.Single((await Database.GetLayoutsAsync(None)).Layouts));

        static (int, int) Shown(LayoutSet set) => (set.Version, set.Layouts.Count);
    }

    [Fact]
    public async Task First_layouts_added_at_once_agree()
    {
        var sets = await Task.WhenAll(Enumerable.Range(0, 6).Select(i => Task.Run(() =>
            OpenAnother().AddFirstLayoutAsync(First with { Ranges = (RangesState)(i % 2 * 2) }, filled: false, None))));
        Assert.Single(sets.Select(set => Assert.Single(set.Layouts)).Distinct());
    }

    [Theory]
    [InlineData(false, RangesState.Off)]
    [InlineData(true, RangesState.On)]
    public async Task Where_accounts_may_be_there_ranges_begin_as_off_unless_they_are_known_to_be_filled(bool filled, RangesState expected)
    {
        await IngestAsync(Numbered(4)); // gives a mark
        Assert.Equal(expected, Assert.Single((await Database.AddFirstLayoutAsync(First, filled, None)).Layouts).Ranges);
    }

    [Fact]
    public async Task What_is_written_once_of_a_layout_comes_back()
    {
        var layout = First with
        {
            Facts = new LayoutFacts
            {
                AccountsTable = "accounts2",
                RangesTable = "ranges2",
                StorageAccounts = [2, 1, 3],
                SpreadDomains = new Dictionary<string, int> { ["gmail.com"] = 32, ["yahoo.com"] = 8 },
            },
        };
        await Database.AddFirstLayoutAsync(layout, filled: false, None);
        var read = Assert.Single((await Database.GetLayoutsAsync(None)).Layouts);
        Assert.Equal(layout, read);
        Assert.NotEqual(First, read);
    }

    [Fact]
    public async Task Ranges_only_rise_and_each_rise_raises_the_version()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, filled: false, None);
        foreach (var (state, version, becomes) in new[]
        {
            (RangesState.Off, 1, RangesState.Off), (RangesState.Filling, 2, RangesState.Filling),
            (RangesState.Filling, 2, RangesState.Filling), (RangesState.Off, 2, RangesState.Filling),
            (RangesState.On, 3, RangesState.On), (RangesState.Filling, 3, RangesState.On),
        })
        {
            var set = await Database.RaiseRangesAsync(1, state, None);
            Assert.Equal((version, becomes), (set.Version, Assert.Single(set.Layouts).Ranges));
        }
        Assert.Equal(3, (await Database.RaiseRangesAsync(2, RangesState.On, None)).Version); // there is none
    }

    [Fact]
    public async Task How_far_a_fill_is_is_recorded_while_it_goes_on()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, filled: false, None);
        await Database.SetFillAsync(1, "too early", None);
        Assert.Null(await Database.GetFillAsync(1, None));
        await Database.RaiseRangesAsync(1, RangesState.Filling, None);
        await Database.SetFillAsync(1, "here", None);
        await Database.RaiseRangesAsync(1, RangesState.On, None);
        await Database.SetFillAsync(1, "too late", None);
        Assert.Equal("here", await Database.GetFillAsync(1, None));
        Assert.Null(await Database.GetFillAsync(2, None));
    }

    [Fact]
    public async Task A_slice_is_done_in_the_layouts_it_was_written_in_or_not_at_all()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, filled: false, None);
        var load = await IngestAllAsync(Numbered(4));
        var work = (await Database.BeginSliceAsync(load.Id, 1, Me, SliceLease, MaxTries, None))!;
        Assert.Equal((1, false), (work.Layouts.Version, work.Layouts.WritesRanges));
        await OpenAnother().RaiseRangesAsync(1, RangesState.Filling, None);

        // Nothing of it is done; its owner has it, and is told what to write.
        var ended = await Database.CompleteSliceAsync(load.Id, 1, Me, 3, work.Layouts.Version, None);
        Assert.Equal((false, 2, true), (ended.IsDone, ended.Layouts!.Version, ended.Layouts.WritesRanges));
        var slice = (await Database.ListSlicesAsync(load.Id, false, None))[0];
        Assert.Equal((SliceState.Pending, 1), (slice.State, slice.Attempts));
        Assert.True(await Database.RenewSliceAsync(load.Id, 1, Me, SliceLease, null, None));
        Assert.False(await Database.TryStartMatchingAsync(load.Id, None));

        // To whoever has lost it the layouts say nothing.
        Assert.Equal(SliceCompletion.Lost, await Database.CompleteSliceAsync(load.Id, 1, Other, 3, work.Layouts.Version, None));
        Assert.Equal(SliceCompletion.Lost, await Database.CompleteSliceAsync(load.Id, 1, Other, 3, ended.Layouts.Version, None));
        Assert.Equal(SliceCompletion.Done, await Database.CompleteSliceAsync(load.Id, 1, Me, 3, ended.Layouts.Version, None));
        Assert.Equal(SliceCompletion.Lost, await Database.CompleteSliceAsync(load.Id, 1, Me, 3, ended.Layouts.Version, None));
        Assert.Equal(2, (await Database.BeginSliceAsync(load.Id, 2, Me, SliceLease, MaxTries, None))!.Layouts.Version);
    }

    [Fact]
    public async Task A_set_that_changes_under_slices_leaves_none_done_in_the_old_one()
    {
        await Database.AddFirstLayoutAsync(First with { Ranges = RangesState.Off }, filled: false, None);
        var load = await IngestAllAsync(Numbered(30)); // ten slices
        var begun = new List<(int Slice, int Version)>();
        for (var slice = 1; slice <= 10; slice++)
            begun.Add((slice, (await Database.BeginSliceAsync(load.Id, slice, Me, SliceLease, MaxTries, None))!.Layouts.Version));
        var raised = 0L;
        var changing = Task.Run(async () =>
        {
            await OpenAnother().RaiseRangesAsync(1, RangesState.Filling, None);
            Interlocked.Exchange(ref raised, 1);
        });
        await Parallel.ForEachAsync(begun, async (one, _) =>
        {
            var before = Interlocked.Read(ref raised);
            var ended = await OpenAnotherAt(one.Slice).CompleteSliceAsync(load.Id, one.Slice, Me, 3, one.Version, None);
            Assert.False(ended.IsDone && before == 1, $"slice {one.Slice} was done in the old set");
        });
        await changing;
        foreach (var slice in (await Database.ListSlicesAsync(load.Id, false, None)).Where(slice => slice.State != SliceState.Done))
            Assert.True((await Database.CompleteSliceAsync(load.Id, slice.Number, Me, 3, 2, None)).IsDone);
        Assert.True(await Database.TryStartMatchingAsync(load.Id, None));
    }

    [Fact]
    public async Task Of_which_layouts_progress_is_comes_with_it()
    {
        var load = await IngestAllAsync(Numbered(4));
        await Database.BeginSliceAsync(load.Id, 1, Me, SliceLease, MaxTries, None);
        var progress = new SliceProgress(7, [0b0101]) { LayoutVersion = 3 };
        Assert.True(await Database.RenewSliceAsync(load.Id, 1, Me, SliceLease, progress, None));
        Assert.True(await Database.RenewSliceAsync(load.Id, 1, Me, SliceLease, null, None));
        Time.Advance(SliceLease);
        var kept = (await Database.BeginSliceAsync(load.Id, 1, Other, SliceLease, MaxTries, None))!.Progress!;
        Assert.Equal((7, 3, 0b0101), (kept.OrderVersion, kept.LayoutVersion, Assert.Single(kept.Done)));
    }

    private IBreachDatabase OpenAnotherAt(int place) => place % 2 == 0 ? Database : OpenAnotherOnce();

    private IBreachDatabase OpenAnotherOnce()
    {
        lock (_opened)
            return OpenAnother();
    }
}
