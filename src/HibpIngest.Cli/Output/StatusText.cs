namespace HibpIngest.Cli.Output;

/// <summary>Shows a changing line: updated in place on a terminal, repeated every few seconds otherwise.</summary>
internal static class StatusText
{
    // Often enough to show progress, seldom enough for a log file.
    private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(5);

    /// <param name="title">Shown before the first line.</param>
    /// <param name="work">Calls its argument with each line, from any thread.</param>
    public static async Task<T> ShowAsync<T>(Screen screen, TimeProvider time, string title, Func<Action<string>, Task<T>> work)
    {
        var gate = new Lock();
        if (!screen.IsLive)
        {
            var last = time.GetTimestamp();
            return await work(line =>
            {
                lock (gate)
                {
                    if (time.GetElapsedTime(last) < LineEvery)
                        return;
                    last = time.GetTimestamp();
                    screen.Say(line);
                }
            });
        }
        return await screen.Messages.Status().StartAsync(title, context => work(line =>
        {
            lock (gate)
                context.Status = Markup.Escape(line);
        }));
    }
}
