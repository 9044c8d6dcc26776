using HibpIngest.Pipeline;
using Spectre.Console;

namespace HibpIngest.Cli.Output;

/// <summary>Shows that something long goes on: a spinner with a count on a terminal, nothing otherwise.</summary>
internal static class Spinner
{
    public static async Task<long> ShowAsync(Screen screen, string what, Func<IProgress<long>, Task<long>> work)
    {
        if (!screen.IsLive)
            return await work(new Count(_ => { }));
        return await screen.Messages.Status().StartAsync(Markup.Escape(what), context =>
            work(new Count(count => context.Status = Markup.Escape($"{what}: {TableFormat.Number(count)}"))));
    }

    /// <summary>
    /// The same where it is known how much there is to do: a bar with what is left of the time on a terminal, a
    /// line now and then otherwise.
    /// </summary>
    public static async Task<T> ShowAsync<T>(Screen screen, string what, TimeProvider time, Func<IProgress<RemovalProgress>, Task<T>> work)
    {
        if (!screen.IsLive)
            return await work(new Lines(screen, what, time));
        return await screen.Messages.Progress()
            .Columns(
                new TaskDescriptionColumn { Alignment = Justify.Left }, TableFormat.Bar(screen.Messages), new PercentageColumn(),
                new TimesColumn())
            .StartAsync(context => work(new Bar(context.AddTask(Markup.Escape(what), maxValue: 1), what)));
    }

    private static string Describe(string what, RemovalProgress value) =>
        value.Waiting
            ? $"{what}: waiting for slices that are under way"
            : $"{what}: {TableFormat.Number(value.Done)} of {TableFormat.Number(value.Total)} accounts";

    private sealed class Bar(ProgressTask task, string what) : IProgress<RemovalProgress>
    {
        public void Report(RemovalProgress value)
        {
            task.Description = Markup.Escape(Describe(what, value));
            task.MaxValue = Math.Max(value.Total, 1);
            task.Value = value is { Waiting: false, Total: 0 } ? 1 : value.Done;
        }
    }

    private sealed class Lines(Screen screen, string what, TimeProvider time) : IProgress<RemovalProgress>
    {
        // Often enough to see that it lives, seldom enough for a log file.
        private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(5);

        private readonly Lock _gate = new();
        private readonly long _began = time.GetTimestamp();
        private long _last = time.GetTimestamp();

        public void Report(RemovalProgress value)
        {
            lock (_gate)
            {
                if (time.GetElapsedTime(_last) < LineEvery)
                    return;
                _last = time.GetTimestamp();
            }
            var line = Describe(what, value);
            if (value.Done > 0)
                line += $", {TableFormat.Duration(time.GetElapsedTime(_began) * ((double)(value.Total - value.Done) / value.Done))} left";
            screen.Say(line);
        }
    }

    /// <summary>Progress on the thread that reports it, so that a report is never late.</summary>
    private sealed class Count(Action<long> show) : IProgress<long>
    {
        public void Report(long value) => show(value);
    }
}
