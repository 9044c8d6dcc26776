using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Commands;

internal sealed class RangesCommands() : CommandGroup(
    "ranges", "Fill the table that is asked for accounts by the beginning of their hash.", new RangesFillCommand(),
    new RangesStatusCommand())
{
    public static string Show(RangesState state) => state.ToString().ToLowerInvariant();
}

internal sealed class RangesFillCommand : HibpCommand
{
    private readonly Option<string?> _layout = new("--layout")
    {
        Description = "The layout whose ranges are filled. [default: the one that is read]",
        HelpName = "NAME",
    };

    public RangesFillCommand()
        : base(
            "fill",
            "Write the hashes of all accounts that are there, beside running hosts, and turn ranges on. Broken off, it is run again and "
            + "goes on where it was; until it is done, readers are told to come again later.")
    {
        Add(_layout);
        Examples =
        [
            ("hibp ranges fill", "once, for a store from before there were ranges, or one made with HIBP_RANGES=off"),
            ("hibp ranges fill --json", "the same in a script: what it did as one document"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var began = session.Time.GetTimestamp();
        var accounts = await FillAsync(
            session, services.GetRequiredService<FillRanges>(), session.Parsed.GetValue(_layout), cancellationToken);
        var took = session.Time.GetElapsedTime(began);
        session.Screen.ShowResult(
            new RangesDocument(RangesCommands.Show(RangesState.On)) { Accounts = accounts, Seconds = took.TotalSeconds },
            Documents.Default.RangesDocument,
            accounts == 0 ? "Ranges are on; there was nothing to write."
            : $"Ranges are on: {TableFormat.Number(accounts)} accounts were written in {TableFormat.Duration(took)} "
            + $"({TableFormat.Number((long)(accounts / took.TotalSeconds))} a second).");
        return 0;
    }

    /// <summary>Fills the ranges. If the run is interrupted, for any reason, the message says how to resume it.</summary>
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
            session.Screen.Say("The backfill was interrupted: loads write ranges from now on, and 'hibp ranges fill' resumes it.");
            throw;
        }
    }
}

internal sealed class RangesStatusCommand : HibpCommand
{
    public RangesStatusCommand()
        : base("status", "Say whether ranges are off, filling or on.")
    {
        Examples = [("hibp ranges status", "on: ranges are answered; off, filling: see hibp ranges fill")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        // The layout that readers use.
        var layout = await services.GetRequiredService<IStoreRegister>().GetReadLayoutAsync(cancellationToken);
        var state = RangesCommands.Show(layout?.Ranges ?? RangesState.Off);
        session.Screen.ShowResult(
            new RangesDocument(state), Documents.Default.RangesDocument,
            $"Ranges are {state}{(state == "on" ? "." : "; hibp ranges fill turns them on.")}");
        return 0;
    }
}
