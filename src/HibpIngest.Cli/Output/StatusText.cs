namespace HibpIngest.Cli.Output;

internal static class StatusText
{
    /// <param name="work">Calls its argument with each line, from any thread.</param>
    public static async Task<T> ShowAsync<T>(Screen screen, TimeProvider time, string title, Func<Action<string>, Task<T>> work)
    {
        if (!screen.IsLive)
        {
            var limit = new LineLimit(time);
            return await work(line =>
            {
                if (limit.IsDue())
                    screen.Say(line);
            });
        }
        var gate = new Lock();
        return await screen.Messages.Status().StartAsync(title, context => work(line =>
        {
            lock (gate)
                context.Status = Markup.Escape(line);
        }));
    }
}

/// <summary>Limits how often progress is printed as a line. Safe for concurrent use.</summary>
internal sealed class LineLimit(TimeProvider time)
{
    // Often enough to show progress, seldom enough for a log file.
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(5);

    private readonly Lock _gate = new();
    private long _last = time.GetTimestamp();

    /// <summary>Returns whether the interval is over, and begins the next one if so.</summary>
    public bool IsDue()
    {
        lock (_gate)
        {
            if (time.GetElapsedTime(_last) < Interval)
                return false;
            _last = time.GetTimestamp();
            return true;
        }
    }
}
