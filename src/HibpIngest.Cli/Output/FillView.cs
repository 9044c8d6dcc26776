using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Output;

internal static class FillView
{
    public static Task<long> ShowAsync(
        Screen screen, TimeProvider time, Func<IProgress<FillProgress>, Task<long>> work, Action begun)
    {
        var began = time.GetTimestamp();
        return StatusText.ShowAsync(screen, time, "filling ranges", show => work(new ImmediateProgress<FillProgress>(value =>
        {
            begun();
            show(Describe(value, time.GetElapsedTime(began)));
        })));
    }

    private static string Describe(FillProgress value, TimeSpan elapsed) =>
        $"filling ranges: {TableFormat.Number(value.Accounts)} accounts, "
        + $"{TableFormat.Number((long)(value.Accounts / elapsed.TotalSeconds))} a second; "
        + $"{value.PartsDone} of {value.Parts} parts of the account table are done";
}
