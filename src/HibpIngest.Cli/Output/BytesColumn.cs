using Spectre.Console.Rendering;

namespace HibpIngest.Cli.Output;

/// <summary>Shows the bytes and rate of a progress bar, in the units of all other output: the standard columns call a MiB an MB.</summary>
internal sealed class BytesColumn : ProgressColumn
{
    protected override bool NoWrap => true;

    public override IRenderable Render(RenderOptions options, ProgressTask task, TimeSpan deltaTime) => new Text(
        $"{TableFormat.Bytes((long)task.Value)} of {TableFormat.Bytes((long)task.MaxValue)}"
        + (task.Speed is { } speed && !task.IsFinished ? $", {TableFormat.Bytes((long)speed)}/s" : ""));
}
