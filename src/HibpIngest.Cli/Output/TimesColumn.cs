using Spectre.Console;
using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

/// <summary>Of a bar, for how long it goes on, and what is left; of one that is full, how long it took.</summary>
internal sealed class TimesColumn(Func<ProgressTask, TimeSpan?> left) : ProgressColumn
{
    /// <summary>At the bar's own speed.</summary>
    public TimesColumn()
        : this(task => task.RemainingTime)
    {
    }

    protected override bool NoWrap => true;

    public override IRenderable Render(RenderOptions options, ProgressTask task, TimeSpan deltaTime)
    {
        if (task.ElapsedTime is not { } elapsed)
            return new Text("");
        if (task.StopTime is not null || task.IsFinished)
            return new Text($"took {TableFormat.Duration(elapsed)}");
        return new Text($"for {TableFormat.Duration(elapsed)}"
            + (left(task) is { TotalSeconds: >= 0.5 } rest ? $", {TableFormat.Duration(rest)} left" : ""));
    }
}
