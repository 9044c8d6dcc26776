using System.Collections.Concurrent;
using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

internal static class ProgressBars
{
    /// <summary>Creates bars whose width leaves room for text on a narrow screen.</summary>
    public static Progress Create(IAnsiConsole console, params ReadOnlySpan<ProgressColumn> more) => console.Progress().Columns(
    [
        new TaskDescriptionColumn { Alignment = Justify.Left }, new ProgressBarColumn { Width = console.Profile.Width < 100 ? 8 : 30 },
        new PercentageColumn(), .. more,
    ]);
}

internal sealed class TimesColumn(Func<ProgressTask, TimeSpan?> left) : ProgressColumn
{
    /// <param name="valueOfPart">The bar value that one part represents.</param>
    public TimesColumn(double valueOfPart)
        : this(Estimate(valueOfPart))
    {
    }

    protected override bool NoWrap => true;

    public override IRenderable Render(RenderOptions options, ProgressTask task, TimeSpan deltaTime)
    {
        if (task.ElapsedTime is not { } elapsed)
            return new Text("");
        if (task.StopTime is not null || task.IsFinished)
            return new Text($"took {TableFormat.Duration(elapsed)}");
        return new Text($"elapsed {TableFormat.Duration(elapsed)}"
            + (left(task) is { TotalSeconds: >= 0.5 } rest ? $", {TableFormat.Duration(rest)} left" : ""));
    }

    private static Func<ProgressTask, TimeSpan?> Estimate(double valueOfPart)
    {
        var estimates = new ConcurrentDictionary<int, TimeLeft>();
        return task => task.ElapsedTime is { } elapsed
            ? estimates.GetOrAdd(task.Id, _ => new TimeLeft())
                .Next(elapsed, task.Value / valueOfPart, (task.MaxValue - task.Value) / valueOfPart)
            : null;
    }
}

/// <summary>Bytes and rate of a progress bar, in the units of all other output: the standard columns call a MiB an MB.</summary>
internal sealed class BytesColumn : ProgressColumn
{
    protected override bool NoWrap => true;

    public override IRenderable Render(RenderOptions options, ProgressTask task, TimeSpan deltaTime) => new Text(
        $"{TableFormat.Bytes((long)task.Value)} of {TableFormat.Bytes((long)task.MaxValue)}"
        + (task.Speed is { } speed && !task.IsFinished ? $", {TableFormat.Bytes((long)speed)}/s" : ""));
}
