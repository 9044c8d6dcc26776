namespace HibpIngest.Cli.Output;

/// <summary>Shows the progress of a transfer: a bar on a terminal, a line every few seconds otherwise.</summary>
internal static class Transfer
{
    // Often enough to show progress, seldom enough for a log file.
    private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(5);

    public static async Task<T> ShowAsync<T>(Screen screen, string what, long bytes, TimeProvider time, Func<IProgress<long>, Task<T>> work)
    {
        if (!screen.IsLive)
            return await work(new Lines(screen, what, bytes, time));
        return await screen.Messages.Progress()
            .Columns(
                new TaskDescriptionColumn { Alignment = Justify.Left }, TableFormat.Bar(screen.Messages), new PercentageColumn(),
                new BytesColumn(), new TimesColumn(valueOfPart: 1 << 20))
            .StartAsync(async context =>
            {
                var task = context.AddTask(Markup.Escape(what), maxValue: Math.Max(bytes, 1));
                var result = await work(new ImmediateProgress<long>(value => task.Value = value));
                task.Value = task.MaxValue;
                return result;
            });
    }

    private sealed class Lines(Screen screen, string what, long bytes, TimeProvider time) : IProgress<long>
    {
        private readonly Lock _gate = new();
        private long _last = time.GetTimestamp();

        public void Report(long value)
        {
            lock (_gate)
            {
                if (time.GetElapsedTime(_last) < LineEvery)
                    return;
                _last = time.GetTimestamp();
            }
            screen.Say($"{what}: {TableFormat.Bytes(value)} of {TableFormat.Bytes(bytes)}");
        }
    }
}
