using HibpIngest.Pipeline;

namespace HibpIngest.Cli.Output;

/// <summary>Shows how far a fill is.</summary>
internal static class FillView
{
    /// <param name="time">The clock of the rate.</param>
    /// <param name="work">Reports to what it is given.</param>
    public static Task<long> ShowAsync(
        Screen screen, TimeProvider time, Func<IProgress<FillProgress>, Task<long>> work, Action begun)
    {
        var began = time.GetTimestamp();
        return StatusText.ShowAsync(screen, time, "filling ranges", show => work(new Reported(value =>
        {
            begun();
            show(Describe(value, time.GetElapsedTime(began)));
        })));
    }

    private static string Describe(FillProgress value, TimeSpan elapsed) =>
        $"filling ranges: {TableFormat.Number(value.Accounts)} accounts, "
        + $"{TableFormat.Number((long)(value.Accounts / elapsed.TotalSeconds))} a second; "
        + $"{value.PartsDone} of {value.Parts} parts of the account table are done";

    /// <summary>On the thread that reports.</summary>
    private sealed class Reported(Action<FillProgress> show) : IProgress<FillProgress>
    {
        public void Report(FillProgress value) => show(value);
    }
}
