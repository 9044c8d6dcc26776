using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Commands;

internal sealed class RangesFillCommand : HibpCommand
{
    private readonly Option<string?> _layout =
        new("--layout") { Description = "The layout whose ranges are filled. Default: the one that is read.", HelpName = "NAME" };

    public RangesFillCommand()
        : base("fill", "Write the hashes of all existing accounts while hosts run (backfill), then turn ranges on; until then, requests "
            + "for ranges are answered 503. If interrupted, run the same command again: it resumes.")
    {
        Add(_layout);
        AddExamples(
            ("hibp ranges fill", "once, for a store from before ranges existed, or that had HIBP_RANGES=off"),
            ("hibp ranges fill --json", "as JSON"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var began = session.Time.GetTimestamp();
        var accounts = await FillAsync(
            session, services.GetRequiredService<FillRanges>(), session.Parsed.GetValue(_layout), cancellationToken);
        var took = session.Time.GetElapsedTime(began);
        session.Screen.ShowResult(
            new RangesDocument(RangesState.On.ToString().ToLowerInvariant()) { Accounts = accounts, Seconds = took.TotalSeconds },
            accounts == 0 ? "Ranges are on; there was nothing to write."
            : $"Ranges are on: {TableFormat.Number(accounts)} accounts were written in {TableFormat.Duration(took)} "
                + $"({TableFormat.Number((long)(accounts / took.TotalSeconds))} a second).");
    }

    private static async Task<long> FillAsync(
        CommandSession session, FillRanges fill, string? layout, CancellationToken cancellationToken)
    {
        var begun = false;
        try
        {
            return await FillView.ShowAsync(
                session.Screen, session.Time, progress => fill.RunAsync(layout, progress, cancellationToken), () => begun = true);
        }
        catch (Exception) when (begun)
        {
            session.Screen.Say("The backfill was interrupted: loads write ranges from now on. To resume it, run: hibp ranges fill"
                + (layout is null ? "" : $" --layout {layout}"));
            throw;
        }
    }
}

internal sealed class RangesStatusCommand : HibpCommand
{
    public RangesStatusCommand()
        : base("status", "Show whether ranges are off, filling or on.")
    {
        AddExamples(("hibp ranges status", "\"on\" if requests for ranges are answered"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var readLayout = await services.GetRequiredService<IStoreRegister>().GetReadLayoutAsync(cancellationToken);
        var ranges = readLayout?.Ranges ?? RangesState.Off;
        var state = ranges.ToString().ToLowerInvariant();
        session.Screen.ShowResult(new RangesDocument(state),
            $"Ranges are {state}{(ranges == RangesState.On ? "." : "; 'hibp ranges fill' turns them on.")}");
    }
}
