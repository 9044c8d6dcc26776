namespace HibpIngest.Cli.Output;

internal static class Transfer
{
    public static async Task<T> ShowAsync<T>(Screen screen, string what, long bytes, TimeProvider time, Func<IProgress<long>, Task<T>> work)
    {
        if (!screen.IsLive)
        {
            var limit = new LineLimit(time);
            return await work(new ImmediateProgress<long>(value =>
            {
                if (limit.IsDue())
                    screen.Say($"{what}: {TableFormat.Bytes(value)} of {TableFormat.Bytes(bytes)}");
            }));
        }
        var bars = ProgressBars.Create(screen.Messages, new BytesColumn(), new TimesColumn(valueOfPart: 1 << 20));
        return await bars.StartAsync(async context =>
        {
            var task = context.AddTask(Markup.Escape(what), maxValue: Math.Max(bytes, 1));
            var result = await work(new ImmediateProgress<long>(value => task.Value = value));
            task.Value = task.MaxValue;
            return result;
        });
    }
}
