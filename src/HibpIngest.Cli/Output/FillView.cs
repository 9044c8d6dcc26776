using HibpIngest.Pipeline;
using Spectre.Console;

namespace HibpIngest.Cli.Output;

/// <summary>Shows how far a fill is: on a terminal as it goes, otherwise a line now and then.</summary>
internal static class FillView
{
    // Often enough to see that it lives, seldom enough for a log file.
    private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(5);

    /// <param name="screen">Where it is shown.</param>
    /// <param name="time">The clock of the rate.</param>
    /// <param name="work">Reports to what it is given.</param>
    /// <param name="begun">Told with the first report.</param>
    public static async Task<long> ShowAsync(
        Screen screen, TimeProvider time, Func<IProgress<FillProgress>, Task<long>> work, Action begun)
    {
        var began = time.GetTimestamp();
        if (!screen.IsLive)
        {
            var last = began;
            return await work(new Reported(begun, value =>
            {
                if (time.GetElapsedTime(last) < LineEvery)
                    return;
                last = time.GetTimestamp();
                screen.Say(Describe(value, time.GetElapsedTime(began)));
            }));
        }
        return await screen.Messages.Status().StartAsync("filling ranges", context => work(
            new Reported(begun, value => context.Status = Markup.Escape(Describe(value, time.GetElapsedTime(began))))));
    }

    private static string Describe(FillProgress value, TimeSpan elapsed) =>
        $"filling ranges: {TableFormat.Number(value.Accounts)} accounts, "
        + $"{TableFormat.Number((long)(value.Accounts / elapsed.TotalSeconds))} a second; "
        + $"{value.PartsDone} of {value.Parts} parts of the account table are done";

    /// <summary>On the thread that reports, one at a time.</summary>
    private sealed class Reported(Action begun, Action<FillProgress> show) : IProgress<FillProgress>
    {
        private readonly Lock _gate = new();

        public void Report(FillProgress value)
        {
            lock (_gate)
            {
                begun();
                show(value);
            }
        }
    }
}
