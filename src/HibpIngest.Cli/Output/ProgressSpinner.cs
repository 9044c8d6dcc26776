using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Output;

internal static class ProgressSpinner
{
    public static async Task<long> ShowAsync(Screen screen, string what, Func<IProgress<long>, Task<long>> work)
    {
        if (!screen.IsLive)
            return await work(new ImmediateProgress<long>(_ => { }));
        return await screen.Messages.Status().StartAsync(Markup.Escape(what), context =>
            work(new ImmediateProgress<long>(count => context.Status = Markup.Escape($"{what}: {TableFormat.Number(count)}"))));
    }

    /// <summary>Shows progress with a known total: a bar on a terminal, lines otherwise. Also names a store that doesn't respond.</summary>
    public static async Task<T> ShowAsync<T>(Screen screen, string what, TimeProvider time, Func<IProgress<RemovalProgress>, Task<T>> work)
    {
        if (!screen.IsLive)
        {
            await using var lines = new Removal(what, time, LineLimit.Interval, (line, _) => screen.Say(line));
            return await work(lines);
        }
        return await ProgressBars.Create(screen.Messages, new TimesColumn(TimeLeft.AccountsPerPart)).StartAsync(async context =>
        {
            var task = context.AddTask(Markup.Escape(what), maxValue: 1);
            await using var bar = new Removal(what, time, TimeSpan.Zero, (line, value) =>
            {
                task.Description = Markup.Escape(line);
                task.MaxValue = Math.Max(value.Total, 1);
                task.Value = value.Done;
            });
            return await work(bar);
        });
    }

    internal sealed class Removal : IProgress<RemovalProgress>, IAsyncDisposable
    {
        // Longer than a request with retries to a store that is only busy.
        private static readonly TimeSpan SilentAfter = TimeSpan.FromSeconds(10);

        private readonly string _what;
        private readonly TimeProvider _time;
        private readonly TimeSpan _every;
        private readonly Action<string, RemovalProgress> _show;
        private readonly Lock _gate = new();
        private readonly TimeLeft _left = new();
        private readonly long _startedAt;
        private readonly ITimer _timer;
        private RemovalProgress _last;
        private long _reportedAt;
        private long _shownAt;

        /// <param name="every">Minimum interval between two lines.</param>
        public Removal(string what, TimeProvider time, TimeSpan every, Action<string, RemovalProgress> show)
        {
            (_what, _time, _every, _show) = (what, time, every, show);
            _startedAt = _reportedAt = _shownAt = time.GetTimestamp();
            _timer = time.CreateTimer(_ => ShowSilence(), null, LineLimit.Interval, Timeout.InfiniteTimeSpan);
        }

        public void Report(RemovalProgress value)
        {
            lock (_gate)
            {
                var left = _left.Next(
                    _time.GetElapsedTime(_startedAt), value.Done / TimeLeft.AccountsPerPart,
                    (value.Total - value.Done) / TimeLeft.AccountsPerPart);
                // While one request waits for a store, others still report: the reason stays until there is progress.
                if (value.Reason is null && value.Done == _last.Done && _last.Reason is not null && !value.Waiting)
                    return;
                _last = value;
                _reportedAt = _time.GetTimestamp();
                // A bar shows the time left in a column of its own.
                Show(Describe(value, _every > TimeSpan.Zero ? left : null));
            }
        }

        public ValueTask DisposeAsync() => _timer.DisposeAsync();

        private void ShowSilence()
        {
            lock (_gate)
            {
                if (_time.GetElapsedTime(_reportedAt) is var silent && silent >= SilentAfter)
                {
                    var line = Describe(_last, null);
                    Show(_last.Reason is null ? $"{line}; waiting for the stores for {TableFormat.Duration(silent)}" : line);
                }
            }
            _timer.Change(LineLimit.Interval, Timeout.InfiniteTimeSpan);
        }

        private void Show(string line)
        {
            if (_time.GetElapsedTime(_shownAt) < _every)
                return;
            _shownAt = _time.GetTimestamp();
            _show(line, _last);
        }

        private string Describe(RemovalProgress value, TimeSpan? left)
        {
            var line = value.Waiting ? $"{_what}: waiting for slices that are under way"
                : value.Total == 0 ? _what
                : $"{_what}: {TableFormat.Number(value.Done)} of {TableFormat.Number(value.Total)} accounts";
            return value.Reason is { } reason ? $"{line}; waiting: {reason}"
                : left is { } rest && value is { Waiting: false, Done: > 0 } ? $"{line}, {TableFormat.Duration(rest)} left" : line;
        }
    }
}
