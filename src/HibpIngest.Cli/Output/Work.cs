using Spectre.Console;

namespace HibpIngest.Cli.Output;

/// <summary>Shows that something long goes on: a spinner with a count on a terminal, nothing otherwise.</summary>
internal static class Work
{
    public static async Task<long> ShowAsync(Screen screen, string what, Func<IProgress<long>, Task<long>> work)
    {
        if (!screen.IsLive)
            return await work(new Count(_ => { }));
        return await screen.Messages.Status().StartAsync(Markup.Escape(what), context =>
            work(new Count(count => context.Status = Markup.Escape($"{what}: {Tables.Number(count)}"))));
    }

    /// <summary>Progress on the thread that reports it, so that a report is never late.</summary>
    private sealed class Count(Action<long> show) : IProgress<long>
    {
        public void Report(long value) => show(value);
    }
}
