using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that database and register agree on the layouts, wherever a setup or a change was interrupted.</summary>
public sealed class LayoutSetupTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData(RangesMode.On, RangesState.On)]
    [InlineData(RangesMode.Off, RangesState.Off)]
    public async Task New_store_gets_the_configured_ranges_mode_and_keeps_it(RangesMode mode, RangesState state)
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Upsert.Ranges = mode);
        Assert.Equal(state, (await rig.Context.Register.GetReadLayoutAsync(None))!.Ranges);
        rig.Options.Upsert.Ranges = mode == RangesMode.On ? RangesMode.Off : RangesMode.On;
        await rig.OpenContext().Get<StoreSetup>().EnsureAsync(None);
        await AssertAgreedAsync(rig.Context, state);
    }

    [Fact]
    public async Task Setup_interrupted_at_any_call_is_completed_by_the_next_one()
    {
        var draw = new CallDraw(oneOf: 3, output.WriteLine);
        var calls = 0;
        for (var crashed = true; crashed;)
        {
            var at = draw.Next();
            await using var rig = await PipelineRig.NewAsync(options => options.Upsert.Ranges = RangesMode.On);
            var point = new CrashPoint(at, draw.IsAfterwards());
            var died = await Record.ExceptionAsync(() => point.Wrap(rig.OpenContext()).Get<StoreSetup>().EnsureAsync(None));
            crashed = died is CrashException;
            output.WriteLine($"died at call {at}: {point.Where}");
            // Concurrent readers see no layout, or the right one.
            Assert.NotEqual(RangesState.Off, (await rig.Context.Register.GetReadLayoutAsync(None))?.Ranges);
            await rig.Context.Get<StoreSetup>().EnsureAsync(None);
            await AssertAgreedAsync(rig.Context, RangesState.On);
            calls = point.Calls;
        }
        Assert.True(calls > 20, $"the set-up was expected to make more than {calls} calls");
    }

    [Theory]
    [InlineData(RangesState.Filling)]
    [InlineData(RangesState.On)]
    public async Task Setup_copies_a_layout_change_from_the_database_to_the_register(RangesState state)
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Upsert.Ranges = RangesMode.Off);
        await rig.Context.Database.RaiseRangesAsync(1, state, None);
        Assert.Equal(RangesState.Off, (await rig.Context.Register.GetReadLayoutAsync(None))!.Ranges);
        await rig.OpenContext().Get<StoreSetup>().EnsureAsync(None);
        await AssertAgreedAsync(rig.Context, state);
    }

    [Fact]
    public async Task Setup_copies_a_layout_change_from_the_register_to_a_restored_database()
    {
        await using var rig = await PipelineRig.StartAsync(options => options.Upsert.Ranges = RangesMode.Off);
        var version = (await rig.Context.Database.GetLayoutsAsync(None)).Version;
        await rig.Context.Register.PutLayoutAsync(new StoreLayout { Id = 1, Ranges = RangesState.On }, None);
        await rig.OpenContext().Get<StoreSetup>().EnsureAsync(None);
        await AssertAgreedAsync(rig.Context, RangesState.On);
        Assert.True((await rig.Context.Database.GetLayoutsAsync(None)).Version > version); // so that no open slice completes without it
    }

    [Fact]
    public async Task Setup_refuses_layouts_of_a_newer_program_before_writing_anything()
    {
        await using var rig = await PipelineRig.NewAsync();
        await rig.Context.Database.UpgradeAsync(None);
        var third = new StoreLayout { Id = 3, Ranges = (RangesState)3 };
        await rig.Context.Database.AddFirstLayoutAsync(third, isFromRegister: false, None);
        await Refusal.AssertAsync<StoreMismatchException>("use the newer program", () => rig.Context.Get<StoreSetup>().EnsureAsync(None));
        Assert.Empty(await rig.Context.Register.ListLayoutsAsync(None));
    }

    private static async Task AssertAgreedAsync(PipelineParts context, RangesState state)
    {
        var set = await context.Database.GetLayoutsAsync(None);
        Assert.Equal(state, Assert.Single(set.Layouts).Ranges);
        Assert.Equal(set.Layouts, await context.Register.ListLayoutsAsync(None));
        Assert.Equal(set.Layouts[0], await context.Register.GetReadLayoutAsync(None));
    }
}
